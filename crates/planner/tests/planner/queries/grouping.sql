CREATE TABLE t (id INT PRIMARY KEY, g INT, v INT, s VARCHAR(10))

INSERT INTO t VALUES (1, 1, 10, 'a'), (2, 1, 20, 'A'), (3, 2, 30, 'b'), (4, NULL, 40, NULL), (5, 2, NULL, 'c')

SELECT COUNT(*), COUNT(v), SUM(v), MIN(v), MAX(v), AVG(v) FROM t
----
COUNT(*)|COUNT(v)|SUM(v)|MIN(v)|MAX(v)|AVG(v)
5|4|100|10|40|25.0000

SELECT COUNT(*), SUM(v) FROM t WHERE id > 100
----
COUNT(*)|SUM(v)
0|NULL

SELECT g, COUNT(*) FROM t GROUP BY g ORDER BY g
----
g|COUNT(*)
NULL|1
1|2
2|2

SELECT g + 1 AS h, SUM(v) FROM t GROUP BY h ORDER BY h
----
h|SUM(v)
NULL|40
2|30
3|30

SELECT g + 1, SUM(v) FROM t GROUP BY 1 ORDER BY 1 DESC
----
g + 1|SUM(v)
3|30
2|30
NULL|40

SELECT s, COUNT(*) FROM t GROUP BY s ORDER BY s
----
s|COUNT(*)
NULL|1
a|2
b|1
c|1

SELECT COUNT(DISTINCT s), COUNT(DISTINCT g), COUNT(DISTINCT g, s) FROM t
----
COUNT(DISTINCT s)|COUNT(DISTINCT g)|COUNT(DISTINCT g, s)
3|2|3

SELECT DISTINCT s FROM t ORDER BY s
----
s
NULL
a
b
c

SELECT DISTINCT g FROM t ORDER BY g DESC
----
g
2
1
NULL

SELECT DISTINCT g FROM t ORDER BY v
----
ERROR 3065 (HY000): Expression #1 of ORDER BY clause is not in SELECT list, references column 'test.t.v' which is not in SELECT list; this is incompatible with DISTINCT

SELECT g, v FROM t GROUP BY g
----
ERROR 1055 (42000): Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column 'test.t.v' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by

SELECT v, COUNT(*) FROM t
----
ERROR 1140 (42000): In aggregated query without GROUP BY, expression #1 of SELECT list contains nonaggregated column 'test.t.v'; this is incompatible with sql_mode=only_full_group_by

SELECT id, v, COUNT(*) FROM t GROUP BY id ORDER BY id
----
id|v|COUNT(*)
1|10|1
2|20|1
3|30|1
4|40|1
5|NULL|1

SELECT id, s FROM t GROUP BY id HAVING COUNT(*) = 1 ORDER BY id LIMIT 2
----
id|s
1|a
2|A

SELECT g, ANY_VALUE(s) FROM t WHERE id IN (1, 3) GROUP BY g ORDER BY g
----
g|ANY_VALUE(s)
1|a
2|b

SELECT g, SUM(v) AS total FROM t GROUP BY g HAVING total > 30 ORDER BY total
----
g|total
NULL|40

SELECT g, SUM(v) FROM t GROUP BY g HAVING SUM(v) > 30 AND g IS NOT NULL
----
g|SUM(v)

SELECT g FROM t HAVING g > 1 ORDER BY g
----
g
2
2

SELECT id AS q, v FROM t HAVING q = 3
----
q|v
3|30

SELECT id FROM t HAVING v = 3
----
ERROR 1054 (42S22): Unknown column 'v' in 'having clause'

SELECT g, SUM(v) FROM t GROUP BY g WITH ROLLUP
----
g|SUM(v)
NULL|40
1|30
2|30
NULL|100

SELECT g, s, SUM(v), GROUPING(g), GROUPING(g, s) FROM t GROUP BY g, s WITH ROLLUP
----
g|s|SUM(v)|GROUPING(g)|GROUPING(g, s)
NULL|NULL|40|0|0
NULL|NULL|40|0|1
1|a|30|0|0
1|NULL|30|0|1
2|b|30|0|0
2|c|NULL|0|0
2|NULL|30|0|1
NULL|NULL|100|1|3

SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY COUNT(*) DESC, g
----
g|n
1|2
2|2
NULL|1

SELECT SUM(v) FROM t WHERE SUM(v) > 1
----
ERROR 1111 (HY000): Invalid use of group function

SELECT SUM(SUM(v)) FROM t
----
ERROR 1111 (HY000): Invalid use of group function

SELECT COUNT(*) FROM t GROUP BY COUNT(*)
----
ERROR 1111 (HY000): Invalid use of group function

SELECT SUM(v) AS q FROM t GROUP BY q
----
ERROR 1056 (42000): Can't group on 'q'

SELECT g FROM t GROUP BY 7
----
ERROR 1054 (42S22): Unknown column '7' in 'group statement'

SELECT GROUP_CONCAT(s ORDER BY s DESC SEPARATOR '-') FROM t
----
GROUP_CONCAT(s ORDER BY s DESC SEPARATOR '-')
c-b-a-A

SELECT g, GROUP_CONCAT(DISTINCT s) FROM t GROUP BY g ORDER BY g
----
g|GROUP_CONCAT(DISTINCT s)
NULL|NULL
1|a
2|b,c

SELECT g, MAX(s), MIN(s) FROM t GROUP BY g ORDER BY g
----
g|MAX(s)|MIN(s)
NULL|NULL|NULL
1|a|a
2|c|b

SELECT SUM(v) / COUNT(*) FROM t
----
SUM(v) / COUNT(*)
20.0000

SELECT CASE WHEN g IS NULL THEN 'none' ELSE s END AS k, COUNT(*) FROM t GROUP BY k ORDER BY k
----
k|COUNT(*)
a|2
b|1
c|1
none|1

SET sql_mode = ''

SELECT g, COUNT(*), v IS NULL OR v > 0 AS o FROM t WHERE id < 4 GROUP BY g ORDER BY g
----
g|COUNT(*)|o
1|2|1
2|1|1

SELECT COUNT(*), s = 'a' FROM t WHERE id = 1
----
COUNT(*)|s = 'a'
1|1

SELECT COUNT(*), s FROM t WHERE id > 100
----
COUNT(*)|s
0|NULL
