CREATE TABLE t (id INT PRIMARY KEY, g INT, v DECIMAL(10,2), s VARCHAR(20), d DATE)

INSERT INTO t VALUES (1, 1, 1.50, 'alpha', '2024-01-01'), (2, 1, 2.25, 'Beta', '2024-01-02'), (3, 2, NULL, 'beta', '2024-02-01'), (4, 2, 4.00, NULL, NULL), (5, NULL, 5.75, 'gamma', '2024-03-01')

CREATE TABLE u (tid INT, k VARCHAR(20) COLLATE utf8mb4_bin, n INT)

INSERT INTO u VALUES (1, 'alpha', 10), (2, 'BETA', 20), (2, 'Beta', 30), (NULL, 'gamma', 40), (7, NULL, 50)

SELECT t.id, u.n FROM t JOIN u ON t.s = u.k ORDER BY 1, 2
----
id|n
1|10
2|30
5|40

SELECT t.id, u.n FROM t LEFT JOIN u ON t.id = u.tid ORDER BY t.id, u.n
----
id|n
1|10
2|20
2|30
3|NULL
4|NULL
5|NULL

SELECT t.id, u.n FROM t RIGHT JOIN u ON t.id = u.tid ORDER BY u.n
----
id|n
1|10
2|20
2|30
NULL|40
NULL|50

SELECT a.id, b.id FROM t a JOIN t b ON a.s = b.s AND a.id < b.id
----
id|id
2|3

SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.g = b.g AND a.id <> b.id ORDER BY 1, 2
----
id|id
1|2
2|1
3|4
4|3
5|NULL

SELECT COUNT(*) FROM t a, t b, t c WHERE a.id = b.id AND b.id = c.id
----
COUNT(*)
5

SELECT a.id FROM t a JOIN (t b JOIN u ON b.id = u.tid) ON a.id = b.id ORDER BY 1
----
id
1
2
2

SELECT a.id, b.id, u.n FROM t a LEFT JOIN (t b JOIN u ON b.id = u.tid) ON a.id = b.id ORDER BY 1, 3
----
id|id|n
1|1|10
2|2|20
2|2|30
3|NULL|NULL
4|NULL|NULL
5|NULL|NULL

SELECT g, SUM(v), AVG(v), MIN(d), MAX(d) FROM t GROUP BY g ORDER BY g
----
g|SUM(v)|AVG(v)|MIN(d)|MAX(d)
NULL|5.75|5.750000|2024-03-01|2024-03-01
1|3.75|1.875000|2024-01-01|2024-01-02
2|4.00|4.000000|2024-02-01|2024-02-01

SELECT DATE'2024-01-01' < d AS later, COUNT(*) FROM t GROUP BY later ORDER BY later
----
later|COUNT(*)
NULL|1
0|1
1|3

SELECT id FROM t WHERE d > '2024-01-01' ORDER BY d DESC
----
id
5
3
2

SELECT id FROM t WHERE d BETWEEN '2024-01-02' AND '2024-02-28' ORDER BY id
----
id
2
3

SELECT g, COUNT(*) FROM t WHERE v > 1 GROUP BY g HAVING COUNT(*) > 1 ORDER BY g
----
g|COUNT(*)
1|2

SELECT t1.g, (SELECT COUNT(*) FROM t t2 WHERE t2.g <=> t1.g) AS n FROM t t1 GROUP BY t1.g ORDER BY t1.g
----
g|n
NULL|1
1|2
2|2

SELECT id, v FROM t t1 WHERE v > (SELECT AVG(v) FROM t t2 WHERE t2.g = t1.g) ORDER BY id
----
id|v
2|2.25

SELECT id, v FROM t t1 WHERE v >= ALL (SELECT v FROM t t2 WHERE t2.g = t1.g AND v IS NOT NULL) ORDER BY id
----
id|v
2|2.25
4|4.00
5|5.75

SELECT id FROM t t1 WHERE 1 < (SELECT COUNT(*) FROM t t2 WHERE t2.g = t1.g) ORDER BY id
----
id
1
2
3
4

SELECT id, (SELECT GROUP_CONCAT(k ORDER BY k) FROM u WHERE u.tid = t.id) AS ks FROM t ORDER BY id
----
id|ks
1|alpha
2|BETA,Beta
3|NULL
4|NULL
5|NULL

SELECT id, (SELECT MAX(n) FROM u WHERE u.tid < t.id) AS m FROM t ORDER BY id
----
id|m
1|NULL
2|10
3|30
4|30
5|30

SELECT DISTINCT g, s IS NULL FROM t ORDER BY 1, 2
----
g|s IS NULL
NULL|0
1|0
2|0
2|1

SELECT DISTINCT t.g FROM t JOIN u ON t.id = u.tid ORDER BY 1
----
g
1

SELECT x.g, x.total FROM (SELECT g, SUM(v) AS total FROM t GROUP BY g) x WHERE x.total > 3 ORDER BY x.total DESC
----
g|total
NULL|5.75
2|4.00
1|3.75

SELECT x.g, y.n FROM (SELECT DISTINCT g FROM t) x LEFT JOIN (SELECT tid, COUNT(*) n FROM u GROUP BY tid) y ON x.g = y.tid ORDER BY 1
----
g|n
NULL|NULL
1|1
2|2

SELECT (SELECT id FROM t WHERE s = 'ALPHA') + 1 AS n
----
n
2

SELECT IF(EXISTS (SELECT 1 FROM t WHERE id = 9), 'y', 'n') AS e
----
e
n

SELECT id, CASE (SELECT COUNT(*) FROM u WHERE u.tid = t.id) WHEN 0 THEN 'none' WHEN 1 THEN 'one' ELSE 'many' END AS c FROM t ORDER BY id
----
id|c
1|one
2|many
3|none
4|none
5|none

SELECT SUM(CASE WHEN g = 1 THEN v END) AS a, COUNT(CASE WHEN g = 2 THEN 1 END) AS b FROM t
----
a|b
3.75|2

SELECT g, SUM(v) OVER (ORDER BY g) AS r FROM t WHERE g IS NOT NULL ORDER BY g, r
----
g|r
1|3.75
1|3.75
2|7.75
2|7.75

SELECT g, id, RANK() OVER (PARTITION BY g ORDER BY v DESC) AS r, SUM(v) OVER (PARTITION BY g) AS t FROM t ORDER BY g, id
----
g|id|r|t
NULL|5|1|5.75
1|1|2|3.75
1|2|1|3.75
2|3|2|4.00
2|4|1|4.00

SELECT * FROM (SELECT id, ROW_NUMBER() OVER (PARTITION BY g ORDER BY id DESC) AS r FROM t) x WHERE r = 1 ORDER BY id
----
id|r
2|1
4|1
5|1

WITH a AS (SELECT g, COUNT(*) AS n FROM t GROUP BY g), b AS (SELECT MAX(n) AS m FROM a) SELECT a.g FROM a, b WHERE a.n = b.m ORDER BY 1
----
g
1
2

WITH RECURSIVE tree (id, path) AS (
  SELECT id, CAST(id AS CHAR(50)) FROM t WHERE id = 1
  UNION ALL SELECT t.id, CAST(t.id * 10 AS CHAR(50)) FROM tree JOIN t ON t.id = tree.id + 1)
SELECT * FROM tree ORDER BY id
----
id|path
1|1
2|20
3|30
4|40
5|50

SELECT id FROM t WHERE (g, id) IN (SELECT g, MAX(id) FROM t GROUP BY g) ORDER BY id
----
id
2
4

SELECT id FROM t WHERE (g, v) NOT IN (SELECT g, v FROM t WHERE id = 1) ORDER BY id
----
id
2
3
4
5

SELECT id FROM t WHERE s NOT IN (SELECT k FROM u WHERE k IS NOT NULL) ORDER BY id
----
id
3

SELECT id FROM t WHERE id NOT IN (SELECT tid FROM u) ORDER BY id
----
id

SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.tid = t.id AND EXISTS (SELECT 1 FROM u u2 WHERE u2.tid = u.tid AND u2.n > u.n)) ORDER BY id
----
id
2

SELECT id FROM t WHERE id IN (SELECT tid FROM u WHERE n IN (SELECT MAX(n) FROM u WHERE u.tid = t.id)) ORDER BY id
----
id
1
2

SELECT id FROM t WHERE NOT (id IN (SELECT tid FROM u) AND g = 1) ORDER BY id
----
id
3
4

SELECT id FROM t WHERE id IN (SELECT tid FROM u) OR g = 2 ORDER BY id
----
id
1
2
3
4

SELECT COUNT(*) FROM t HAVING COUNT(*) > 100
----
COUNT(*)

SELECT MAX(id) FROM t WHERE g = 1 UNION ALL SELECT MIN(id) FROM t WHERE g = 2
----
MAX(id)
2
3

SELECT g FROM t GROUP BY g ORDER BY MAX(v) DESC
----
g
NULL
2
1

SELECT g, s FROM t GROUP BY g, s ORDER BY g, s
----
g|s
NULL|gamma
1|alpha
1|Beta
2|NULL
2|beta

SELECT UPPER_NOPE(s) FROM t
----
ERROR 1305 (42000): FUNCTION test.UPPER_NOPE does not exist

SELECT t.id AS a, t.id + 1 AS b FROM t WHERE a = 1
----
ERROR 1054 (42S22): Unknown column 'a' in 'where clause'

SELECT id AS a FROM t ORDER BY a + 1 DESC LIMIT 2
----
a
5
4

SELECT -id AS id FROM t ORDER BY id
----
id
-5
-4
-3
-2
-1

SELECT id FROM t ORDER BY t.id DESC LIMIT 2 OFFSET 1
----
id
4
3

SELECT g AS id FROM t GROUP BY id
----
id
1
1
2
2
NULL

SELECT COUNT(*), g FROM t GROUP BY g WITH ROLLUP HAVING g IS NULL
----
COUNT(*)|g
1|NULL
5|NULL

SELECT s, g, COUNT(*) FROM t GROUP BY s, g WITH ROLLUP
----
s|g|COUNT(*)
NULL|2|1
NULL|NULL|1
alpha|1|1
alpha|NULL|1
Beta|1|1
beta|2|1
Beta|NULL|2
gamma|NULL|1
gamma|NULL|1
NULL|NULL|5

SELECT AVG(v) FROM t WHERE id IN (SELECT tid FROM u WHERE n > (SELECT AVG(n) FROM u))
----
AVG(v)
NULL

SELECT a.id FROM t a WHERE a.id = (SELECT b.id FROM t b WHERE b.id = a.id AND b.id = (SELECT MIN(c.id) FROM t c WHERE c.g = a.g)) ORDER BY 1
----
id
1
3

SELECT t.id, d.n FROM t JOIN (SELECT tid, SUM(n) AS n FROM u GROUP BY tid) d ON d.tid = t.id ORDER BY 1
----
id|n
1|10
2|50

SELECT u.k, COUNT(*) FROM u GROUP BY u.k ORDER BY u.k
----
k|COUNT(*)
NULL|1
BETA|1
Beta|1
alpha|1
gamma|1

SELECT k = 'beta', k = 'BETA' FROM u ORDER BY n
----
k = 'beta'|k = 'BETA'
0|0
0|1
0|0
0|0
NULL|NULL

SELECT t.s, u.k FROM t, u WHERE t.s LIKE u.k ORDER BY 1, 2
----
s|k
alpha|alpha
Beta|Beta
gamma|gamma

SELECT NULL = NULL, NULL <=> NULL, 1 <=> NULL, NOT NULL
----
NULL = NULL|NULL <=> NULL|1 <=> NULL|NOT NULL
NULL|1|0|NULL

SELECT 1 IN (1, NULL), 2 IN (1, NULL), 2 NOT IN (1, NULL), NULL IN (1)
----
1 IN (1, NULL)|2 IN (1, NULL)|2 NOT IN (1, NULL)|NULL IN (1)
1|NULL|NULL|NULL

SELECT * FROM t WHERE 1 = 0
----
id|g|v|s|d

SELECT id FROM t WHERE NULL
----
id

SELECT id FROM t WHERE 'abc' OR id = 1
----
id
1

SELECT 7 / 0, 7 DIV 0, 7 % 0
----
7 / 0|7 DIV 0|7 % 0
NULL|NULL|NULL
