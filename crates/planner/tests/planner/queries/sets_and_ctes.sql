CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10))

INSERT INTO t VALUES (1, 'a'), (2, 'A'), (3, 'b'), (4, NULL)

CREATE VIEW v AS SELECT id AS vid, s FROM t WHERE id > 1

SELECT 1 UNION SELECT 1 UNION SELECT 2 ORDER BY 1
----
1
1
2

SELECT 1 AS a UNION ALL SELECT 1 UNION ALL SELECT 2 ORDER BY a DESC
----
a
2
1
1

SELECT s FROM t UNION SELECT 'B' ORDER BY s
----
s
NULL
a
b

SELECT id FROM t UNION ALL SELECT s FROM t ORDER BY 1
----
id
NULL
1
2
3
4
a
A
b

SELECT 1 UNION SELECT 2.5 UNION SELECT NULL ORDER BY 1
----
1
NULL
1.0
2.5

SELECT 1, 2 UNION SELECT 1
----
ERROR 1222 (21000): The used SELECT statements have a different number of columns

(SELECT id FROM t ORDER BY id DESC LIMIT 1) UNION ALL (SELECT id FROM t ORDER BY id LIMIT 1)
----
id
4
1

SELECT id FROM t UNION ALL SELECT id FROM t ORDER BY id LIMIT 3
----
id
1
1
2

SELECT id FROM t ORDER BY id LIMIT 1, 2
----
id
2
3

SELECT id FROM t INTERSECT SELECT 2
----
id
2

SELECT s FROM t EXCEPT SELECT 'a' ORDER BY s
----
s
NULL
b

SELECT NULL INTERSECT SELECT NULL
----
NULL
NULL

SELECT id FROM t UNION SELECT 9 ORDER BY t.id
----
ERROR 1250 (42000): Table 't' from one of the SELECTs cannot be used in global ORDER clause

VALUES ROW(1, 'x'), ROW(2, 'y') ORDER BY column_0 DESC
----
column_0|column_1
2|y
1|x

VALUES ROW(1, 'x'), ROW(2)
----
ERROR 1136 (21S01): Column count doesn't match value count at row 2

TABLE t ORDER BY id LIMIT 1
----
id|s
1|a

SELECT * FROM v ORDER BY vid
----
vid|s
2|A
3|b
4|NULL

SELECT w.vid FROM v w JOIN t ON t.id = w.vid WHERE t.s = 'a'
----
vid
2

WITH c AS (SELECT id FROM t WHERE id < 3) SELECT COUNT(*) FROM c
----
COUNT(*)
2

WITH c (n) AS (SELECT id FROM t), d AS (SELECT n + 1 AS m FROM c) SELECT c.n, d.m FROM c JOIN d ON c.n = d.m ORDER BY 1
----
n|m
2|2
3|3
4|4

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n
----
i
1
2
3
4
5

WITH RECURSIVE n (i) AS (SELECT 1 UNION SELECT (i * 2) % 10 FROM n) SELECT i FROM n ORDER BY i
----
i
1
2
4
6
8

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n
----
ERROR 3636 (HY000): Recursive query aborted after 1001 iterations. Try increasing @@cte_max_recursion_depth to a larger value.

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n
----
i
1
2
3

WITH RECURSIVE n (i, j) AS (SELECT 1, 1 UNION ALL SELECT i + 1, t.id FROM n JOIN t ON t.id = n.i + 1) SELECT * FROM n
----
i|j
1|1
2|2
3|3
4|4

WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3)
SELECT a.i, b.i FROM n a JOIN n b ON a.i = b.i + 1 ORDER BY 1
----
i|i
2|1
3|2

WITH RECURSIVE n AS (SELECT i FROM n) SELECT * FROM n
----
ERROR 3573 (HY000): Recursive Common Table Expression 'n' should contain a UNION

WITH RECURSIVE n AS (SELECT i FROM n UNION SELECT 1) SELECT * FROM n
----
ERROR 3574 (HY000): Recursive Common Table Expression 'n' should have one or more non-recursive query blocks followed by one or more recursive ones

WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT COUNT(*) FROM n) SELECT * FROM n
----
ERROR 3575 (HY000): Recursive Common Table Expression 'n' can contain neither aggregation nor window functions in recursive query block

WITH c AS (SELECT 1), c AS (SELECT 2) SELECT * FROM c
----
ERROR 1066 (42000): Not unique table/alias: 'c'

SELECT t.id, (WITH c AS (SELECT t.id + 1 AS n) SELECT n FROM c) AS m FROM t ORDER BY 1 LIMIT 2
----
id|m
1|2
2|3

SELECT 1 FROM DUAL
----
1
1

SELECT 1 WHERE FALSE
----
1

SELECT 1 + 1 AS two, 'x', NULL, @@answer
----
two|x|NULL|@@answer
2|x|NULL|42

SELECT @@nope
----
ERROR 1193 (HY000): Unknown system variable 'nope'

VALUES ROW(1), ROW(1), ROW(2) INTERSECT ALL VALUES ROW(1), ROW(1), ROW(3) ORDER BY 1
----
column_0
1
1

VALUES ROW(1), ROW(1), ROW(2) EXCEPT ALL VALUES ROW(1), ROW(3) ORDER BY 1
----
column_0
1
2
