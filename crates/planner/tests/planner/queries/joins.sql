CREATE TABLE a (x INT PRIMARY KEY, c INT, y INT, d INT)

CREATE TABLE b (d INT, z INT, c INT)

INSERT INTO a VALUES (1,2,3,4),(5,6,7,8)

INSERT INTO b VALUES (4,9,2),(14,19,12)

SELECT * FROM a NATURAL JOIN b
----
c|d|x|y|z
2|4|1|3|9

SELECT * FROM a NATURAL RIGHT JOIN b ORDER BY z
----
d|c|z|x|y
4|2|9|1|3
14|12|19|NULL|NULL

SELECT * FROM a RIGHT JOIN b USING (c) ORDER BY z
----
c|d|z|x|y|d
2|4|9|1|3|4
12|14|19|NULL|NULL|NULL

SELECT * FROM a LEFT JOIN b USING (d, c) ORDER BY x
----
c|d|x|y|z
2|4|1|3|9
6|8|5|7|NULL

SELECT c FROM a RIGHT JOIN b USING (c) ORDER BY c
----
c
2
12

SELECT b.*, a.x FROM a, b WHERE a.c = b.c
----
d|z|c|x
4|9|2|1

SELECT a.x, b.z FROM a LEFT JOIN b ON a.c = b.c AND b.z > 100 ORDER BY a.x
----
x|z
1|NULL
5|NULL

SELECT a.x, b.z FROM a CROSS JOIN b ORDER BY 1, 2
----
x|z
1|9
1|19
5|9
5|19

SELECT a.x, b.z FROM a JOIN b ON a.x < b.z ORDER BY 1, 2
----
x|z
1|9
1|19
5|9
5|19

SELECT test.a.x FROM a WHERE test.a.x = 5
----
x
5

SELECT c FROM a JOIN b ON a.d = b.d
----
ERROR 1052 (23000): Column 'c' in field list is ambiguous

SELECT nope FROM a
----
ERROR 1054 (42S22): Unknown column 'nope' in 'field list'

SELECT a.nope FROM a
----
ERROR 1054 (42S22): Unknown column 'a.nope' in 'field list'

SELECT x FROM a WHERE nope = 1
----
ERROR 1054 (42S22): Unknown column 'nope' in 'where clause'

SELECT x FROM a JOIN b ON nope = 1
----
ERROR 1054 (42S22): Unknown column 'nope' in 'on clause'

SELECT x FROM a ORDER BY nope
----
ERROR 1054 (42S22): Unknown column 'nope' in 'order clause'

SELECT x FROM a GROUP BY nope
----
ERROR 1054 (42S22): Unknown column 'nope' in 'group statement'

SELECT x FROM a HAVING nope > 1
----
ERROR 1054 (42S22): Unknown column 'nope' in 'having clause'

SELECT * FROM a, a
----
ERROR 1066 (42000): Not unique table/alias: 'a'

SELECT * FROM nope
----
ERROR 1146 (42S02): Table 'test.nope' doesn't exist

SELECT * FROM nope.t
----
ERROR 1049 (42000): Unknown database 'nope'

SELECT nope.* FROM a
----
ERROR 1051 (42S02): Unknown table 'nope'

SELECT *
----
ERROR 1096 (HY000): No tables used

SELECT * FROM (SELECT 1, 1) t
----
ERROR 1060 (42S21): Duplicate column name '1'

SELECT * FROM (SELECT 1)
----
ERROR 1248 (42000): Every derived table must have its own alias

SELECT * FROM (SELECT x, y FROM a) t (p, q) ORDER BY p
----
p|q
1|3
5|7

SELECT t.* FROM (SELECT x, y FROM a) t (p)
----
ERROR 1353 (HY000): In definition of view, derived table or common table expression, SELECT list and column names list have different column counts

SELECT a.x, l.n FROM a, LATERAL (SELECT a.x + b.z AS n FROM b WHERE b.c < a.c OR b.c = a.c) l ORDER BY 1, 2
----
x|n
1|10
5|14

SELECT a.x, l.n FROM a LEFT JOIN LATERAL (SELECT b.z AS n FROM b WHERE b.c = a.c) l ON TRUE ORDER BY 1
----
x|n
1|9
5|NULL

SELECT a.x, l.n FROM a LEFT JOIN LATERAL (SELECT b.z AS n FROM b) l ON l.n = a.x + 8 ORDER BY 1
----
x|n
1|9
5|NULL

SELECT a.x FROM a LEFT JOIN b ON a.c = b.c WHERE b.c IS NULL
----
x
5

SELECT a.x, b.z FROM a LEFT JOIN b ON a.c = b.c AND b.z IN (SELECT z FROM b) ORDER BY 1
----
x|z
1|9
5|NULL

SELECT a1.x, a2.x FROM a a1 STRAIGHT_JOIN a a2 WHERE a1.x < a2.x
----
x|x
1|5

SELECT a.x, d.k FROM a LEFT JOIN (SELECT 2 AS k) d ON a.x < d.k ORDER BY d.k, a.x
----
x|k
5|NULL
1|2

SELECT a.x, b.c FROM a LEFT JOIN b ON a.c = b.c AND b.c = 2 ORDER BY b.c
----
x|c
5|NULL
1|2

SELECT b.c, COUNT(*) FROM a LEFT JOIN b ON a.c = b.c AND b.c = 2 GROUP BY b.c ORDER BY b.c
----
c|COUNT(*)
NULL|1
2|1

SELECT b1.d, b2.d, (SELECT MAX(x) FROM a WHERE b2.d > 0) AS m FROM b b1 RIGHT JOIN b b2 ON b1.d = b2.z - 5 WHERE 4 <=> b1.d
----
d|d|m
4|4|5
