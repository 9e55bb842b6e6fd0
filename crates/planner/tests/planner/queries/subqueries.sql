CREATE TABLE t (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(10))

CREATE TABLE u (id INT NOT NULL, g INT, w INT)

INSERT INTO t VALUES (1, 1, 10, 'a'), (2, 1, 20, 'B'), (3, 2, 30, 'b'), (4, NULL, 40, NULL)

INSERT INTO u VALUES (1, 1, 5), (2, 1, NULL), (3, 3, 7), (9, NULL, 9)

SELECT (SELECT MAX(v) FROM t)
----
(SELECT MAX(v) FROM t)
40

SELECT (SELECT v FROM t)
----
ERROR 1242 (21000): Subquery returns more than 1 row

SELECT (SELECT v FROM t WHERE id = 99)
----
(SELECT v FROM t WHERE id = 99)
NULL

SELECT id, (SELECT COUNT(*) FROM u WHERE u.g = t.g) AS n FROM t ORDER BY id
----
id|n
1|2
2|2
3|0
4|0

SELECT id, (SELECT SUM(w) + 1 FROM u WHERE u.g = t.g) AS n FROM t ORDER BY id
----
id|n
1|6
2|6
3|NULL
4|NULL

SELECT id, (SELECT w FROM u WHERE u.id = t.id) AS w FROM t ORDER BY id
----
id|w
1|5
2|NULL
3|7
4|NULL

SELECT id, (SELECT w FROM u WHERE u.g = t.g ORDER BY id LIMIT 1) AS w FROM t ORDER BY id
----
id|w
1|5
2|5
3|NULL
4|NULL

SELECT id, (SELECT w FROM u WHERE u.g = t.g) AS w FROM t ORDER BY id
----
ERROR 1242 (21000): Subquery returns more than 1 row

SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.g = t.g) ORDER BY id
----
id
1
2

SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.g = t.g) ORDER BY id
----
id
3
4

SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.w > t.v - 10) ORDER BY id
----
id
1

SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u)
----
id
1
2
3
4

SELECT id FROM t WHERE id IN (SELECT id FROM u) ORDER BY id
----
id
1
2
3

SELECT id FROM t WHERE id NOT IN (SELECT id FROM u) ORDER BY id
----
id
4

SELECT id FROM t WHERE id NOT IN (SELECT w FROM u) ORDER BY id
----
id

SELECT id FROM t WHERE g NOT IN (SELECT id FROM u) ORDER BY id
----
id

SELECT id FROM t WHERE g NOT IN (SELECT id FROM u WHERE id > 100) ORDER BY id
----
id
1
2
3
4

SELECT id FROM t WHERE g IN (SELECT g FROM u WHERE u.id = t.id) ORDER BY id
----
id
1
2

SELECT id FROM t WHERE g NOT IN (SELECT g FROM u WHERE u.id = t.id) ORDER BY id
----
id
3
4

SELECT id, g IN (SELECT g FROM u) AS a, g NOT IN (SELECT g FROM u WHERE g IS NOT NULL) AS b FROM t ORDER BY id
----
id|a|b
1|1|0
2|1|0
3|NULL|1
4|NULL|NULL

SELECT id FROM t WHERE v > ALL (SELECT w FROM u WHERE w IS NOT NULL) ORDER BY id
----
id
1
2
3
4

SELECT id, v > ANY (SELECT w FROM u) AS a, id = SOME (SELECT id FROM u) AS b FROM t ORDER BY id
----
id|a|b
1|1|1
2|1|1
3|1|1
4|1|0

SELECT id FROM t WHERE (id, g) IN (SELECT id, g FROM u) ORDER BY id
----
id
1
2

SELECT id FROM t WHERE (id, g) = (SELECT id, g FROM u WHERE w = 5)
----
id
1

SELECT id FROM t WHERE ROW(1, 1) = (SELECT id, g FROM u WHERE w = 5) ORDER BY id
----
id
1
2
3
4

SELECT id FROM t WHERE id IN (SELECT id, g FROM u)
----
ERROR 1241 (21000): Operand should contain 1 column(s)

SELECT (SELECT id, g FROM u WHERE w = 5)
----
ERROR 1241 (21000): Operand should contain 1 column(s)

SELECT id FROM t WHERE v = (SELECT MAX(v) FROM t t2 WHERE t2.g = t.g) ORDER BY id
----
id
2
3

SELECT id FROM t WHERE id = 1 OR EXISTS (SELECT 1 FROM u WHERE u.id = t.id AND u.w > 6) ORDER BY id
----
id
1
3

SELECT id, (SELECT (SELECT COUNT(*) FROM u u2 WHERE u2.g = t.g AND u2.id = u.id) FROM u WHERE u.id = t.id) AS n
FROM t ORDER BY id
----
id|n
1|1
2|1
3|0
4|NULL

SELECT g, (SELECT COUNT(*) FROM u WHERE u.g = t.g) AS n FROM t GROUP BY g ORDER BY g
----
g|n
NULL|0
1|2
2|0

SELECT g, MAX(v) AS m FROM t GROUP BY g HAVING MAX(v) > (SELECT MIN(v) FROM t) ORDER BY g
----
g|m
NULL|40
1|20
2|30

SELECT MAX((SELECT COUNT(*) FROM u WHERE u.g = t.g)) AS m FROM t
----
m
2

SELECT id FROM t ORDER BY (SELECT w FROM u WHERE u.id = t.id), id
----
id
2
4
1
3

SELECT * FROM (SELECT id, v FROM t WHERE g = 1) d WHERE v > 10
----
id|v
2|20

SELECT id FROM t WHERE s IN (SELECT s FROM t WHERE id = 3) ORDER BY id
----
id
2
3

SELECT id, EXISTS (SELECT 1 FROM u WHERE u.id = t.id) AS e FROM t ORDER BY id
----
id|e
1|1
2|1
3|1
4|0

SELECT id FROM t WHERE v IN (SELECT MAX(v) FROM t GROUP BY g) ORDER BY id
----
id
2
3
4

SELECT id FROM t WHERE id IN (SELECT id FROM u UNION SELECT 4) ORDER BY id
----
id
1
2
3
4

SELECT id FROM t WHERE id NOT IN (SELECT id FROM u WHERE u.g = t.g) ORDER BY id
----
id
3
4

SELECT id FROM t WHERE v = (SELECT MAX(v) FROM t)
----
id
4

SELECT id FROM t WHERE id = (SELECT id FROM u WHERE id > 100)
----
id

SELECT id FROM t WHERE id = (SELECT id FROM u)
----
ERROR 1242 (21000): Subquery returns more than 1 row

SELECT t.id FROM t JOIN u ON t.id = u.id WHERE t.g = (SELECT MIN(g) FROM u) AND u.w = (SELECT MAX(w) FROM u WHERE g = 1)
----
id
1

SELECT id FROM t WHERE s = (SELECT s FROM t WHERE id = 2) ORDER BY id
----
id
2
3
