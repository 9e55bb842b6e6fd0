CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10), h INT INVISIBLE)

INSERT INTO t (id, a, s, h) VALUES (1, 5, 'x', 7), (2, NULL, 'Y', 8), (3, 0, 'y', 9)

SELECT * FROM t
----
id|a|s
1|5|x
2|NULL|Y
3|0|y

SELECT h, t.h FROM t ORDER BY h
----
h|h
7|7
8|8
9|9

SELECT id + 1, -id, id * 2.5, id / 2, id DIV 2, id % 2 FROM t ORDER BY id
----
id + 1|-id|id * 2.5|id / 2|id DIV 2|id % 2
2|-1|2.5|0.5000|0|1
3|-2|5.0|1.0000|1|0
4|-3|7.5|1.5000|1|1

SELECT id FROM t WHERE s = 'Y' ORDER BY id
----
id
2
3

SELECT id FROM t WHERE s LIKE 'y%' ORDER BY id
----
id
2
3

SELECT id, a IS NULL, a IS NOT TRUE, NOT a, a <=> NULL FROM t ORDER BY id
----
id|a IS NULL|a IS NOT TRUE|NOT a|a <=> NULL
1|0|0|0|0
2|1|1|NULL|1
3|0|1|1|0

SELECT id, CASE WHEN a > 1 THEN 'big' WHEN a IS NULL THEN 'none' ELSE 'small' END AS k FROM t ORDER BY id
----
id|k
1|big
2|none
3|small

SELECT id, IF(a, 'yes', 'no'), IFNULL(a, -1), COALESCE(a, id), NULLIF(a, 0) FROM t ORDER BY id
----
id|IF(a, 'yes', 'no')|IFNULL(a, -1)|COALESCE(a, id)|NULLIF(a, 0)
1|yes|5|5|5
2|no|-1|2|NULL
3|no|0|0|NULL

SELECT id FROM t WHERE id BETWEEN 2 AND 3 ORDER BY id
----
id
2
3

SELECT id FROM t WHERE id IN (1, '3', 99) ORDER BY id
----
id
1
3

SELECT id FROM t WHERE (id, s) IN ((1, 'X'), (2, 'z'))
----
id
1

SELECT id FROM t WHERE (id, a) = (1, 5)
----
id
1

SELECT id FROM t WHERE (id, a) = (1, 5, 6)
----
ERROR 1241 (21000): Operand should contain 2 column(s)

SELECT (1, 2)
----
ERROR 1241 (21000): Operand should contain 1 column(s)

SELECT id FROM t ORDER BY a, id
----
id
2
3
1

SELECT id FROM t ORDER BY a DESC, id
----
id
1
3
2

SELECT s FROM t ORDER BY s, id DESC
----
s
x
y
Y

SELECT id AS s, s AS id FROM t ORDER BY id, s
----
s|id
1|x
2|Y
3|y

SELECT id x, id x FROM t ORDER BY x
----
x|x
1|1
2|2
3|3

SELECT id x, s x FROM t ORDER BY x
----
ERROR 1052 (23000): Column 'x' in order clause is ambiguous

SELECT id FROM t ORDER BY 2
----
ERROR 1054 (42S22): Unknown column '2' in 'order clause'

SELECT id FROM t LIMIT 0
----
id

SELECT 'it''s', "q", 1.50, 1e3, x'41', b'101', TRUE
----
it's|q|1.50|1e3|x'41'|b'101'|TRUE
it's|q|1.50|1000|A||1

SELECT nope(1)
----
ERROR 1305 (42000): FUNCTION test.nope does not exist

SELECT id FROM t WHERE id = 1 XOR id = 2
----
id
1
2

SELECT CAST('12' AS SIGNED) + 1, CAST(5 AS CHAR), CAST(3.7 AS DECIMAL(5,1)), CONVERT('a' USING utf8mb4)
----
CAST('12' AS SIGNED) + 1|CAST(5 AS CHAR)|CAST(3.7 AS DECIMAL(5,1))|CONVERT('a' USING utf8mb4)
13|5|3.7|a

SELECT DATE'2024-01-31' + INTERVAL 1 MONTH, DATE'nope'
----
ERROR 1525 (HY000): Incorrect DATE value: 'nope'

SELECT DATE'2024-01-31' + INTERVAL 1 MONTH
----
DATE'2024-01-31' + INTERVAL 1 MONTH
2024-02-29

SELECT @x := id AS n FROM t ORDER BY id
----
n
1
2
3

SELECT @n := 0, @n := @n + 1, @n := @n + 1
----
@n := 0|@n := @n + 1|@n := @n + 1
0|1|2

SELECT a.id FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE b.id = a.id AND b.nope = 1)
----
ERROR 1054 (42S22): Unknown column 'b.nope' in 'where clause'

SELECT 1 COLLATE utf8mb4_bin
----
1 COLLATE utf8mb4_bin
1

SELECT 'a' COLLATE nope
----
ERROR 1273 (HY000): Unknown collation: 'nope'

SELECT id FROM t WHERE MATCH (s) AGAINST ('x')
----
ERROR 1191 (HY000): Can't find FULLTEXT index matching the column list

SELECT DEFAULT(a) FROM t WHERE id = 1
----
DEFAULT(a)
NULL
