"""Analytic queries on TPC-H's tables that are not TPC-H's: windows, ROLLUP, distinct counts, outer and many-to-many joins, keys of several columns
and of texts, subqueries everywhere, common tables. In words that MySQL and DuckDB share; a pair has DuckDB's second."""

QUERIES = {
    # Groups.
    "few groups CASE": """SELECT l_shipmode, SUM(CASE WHEN l_shipdate > l_commitdate THEN 1 ELSE 0 END) AS late, SUM(CASE WHEN l_discount > 0.05 THEN l_extendedprice END) AS cheap,
        COUNT(*) AS n FROM lineitem GROUP BY l_shipmode ORDER BY l_shipmode""",
    "month": """SELECT EXTRACT(YEAR FROM o_orderdate) AS y, EXTRACT(MONTH FROM o_orderdate) AS m, COUNT(*) AS n, SUM(o_totalprice) AS total, MAX(o_totalprice) AS most
        FROM orders GROUP BY y, m ORDER BY y, m""",
    "many groups": """SELECT l_partkey, l_suppkey, COUNT(*) AS n, SUM(l_quantity) AS quantity FROM lineitem GROUP BY l_partkey, l_suppkey
        ORDER BY quantity DESC, l_partkey, l_suppkey LIMIT 20""",
    "text groups": """SELECT o_clerk, COUNT(*) AS n, AVG(o_totalprice) AS average, MIN(o_orderdate) AS first FROM orders GROUP BY o_clerk ORDER BY n DESC, o_clerk LIMIT 10""",
    "groups of groups": """SELECT n, COUNT(*) AS customers FROM (SELECT o_custkey, COUNT(*) AS n FROM orders GROUP BY o_custkey) AS c GROUP BY n ORDER BY n""",
    "distinct by group": """SELECT l_returnflag, COUNT(DISTINCT l_suppkey) AS suppliers, COUNT(DISTINCT l_partkey) AS parts FROM lineitem GROUP BY l_returnflag ORDER BY l_returnflag""",
    "distinct of all": "SELECT COUNT(DISTINCT o_custkey), COUNT(DISTINCT o_orderdate), COUNT(DISTINCT o_clerk) FROM orders",
    "distinct pairs": "SELECT COUNT(*) FROM (SELECT DISTINCT l_suppkey, l_shipdate FROM lineitem) AS d",
    "rollup": ("""SELECT l_shipmode, l_returnflag, l_linestatus, SUM(l_quantity) AS quantity, COUNT(*) AS n FROM lineitem
        GROUP BY l_shipmode, l_returnflag, l_linestatus WITH ROLLUP ORDER BY l_shipmode, l_returnflag, l_linestatus""",
        """SELECT l_shipmode, l_returnflag, l_linestatus, SUM(l_quantity) AS quantity, COUNT(*) AS n FROM lineitem
        GROUP BY ROLLUP (l_shipmode, l_returnflag, l_linestatus) ORDER BY l_shipmode, l_returnflag, l_linestatus"""),
    "having": """SELECT l_suppkey, SUM(l_extendedprice) AS total FROM lineitem WHERE l_shipdate >= DATE '1997-01-01' GROUP BY l_suppkey HAVING COUNT(*) > 150 AND AVG(l_quantity) > 25.5
        ORDER BY total DESC, l_suppkey LIMIT 10""",
    "statistics": "SELECT l_linestatus, STDDEV_POP(l_quantity), VAR_SAMP(l_extendedprice), AVG(l_tax) FROM lineitem GROUP BY l_linestatus ORDER BY l_linestatus",
    "group of texts by function": """SELECT SUBSTRING(c_phone, 1, 2) AS code, COUNT(*) AS n, SUM(c_acctbal) AS balance FROM customer WHERE c_acctbal > 0 GROUP BY code ORDER BY code""",
    # Order and the first rows.
    "top of many": "SELECT l_orderkey, l_linenumber, l_extendedprice FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 10",
    "top by text": "SELECT o_orderkey, o_clerk, o_orderdate FROM orders ORDER BY o_clerk DESC, o_orderkey LIMIT 10",
    "top deep": "SELECT o_orderkey, o_totalprice FROM orders ORDER BY o_totalprice, o_orderkey LIMIT 10 OFFSET 100000",
    "sort of all": "SELECT COUNT(*), SUM(r) FROM (SELECT o_orderkey, ROW_NUMBER() OVER (ORDER BY o_totalprice, o_orderkey) AS r FROM orders) AS s WHERE r % 7 = 0",
    # Windows.
    "latest of each": """SELECT o_custkey, o_orderkey, o_totalprice FROM (SELECT o_custkey, o_orderkey, o_totalprice, ROW_NUMBER() OVER (PARTITION BY o_custkey ORDER BY o_orderdate DESC, o_orderkey) AS r
        FROM orders) AS o WHERE r = 1 ORDER BY o_totalprice DESC, o_custkey LIMIT 10""",
    "running total": """SELECT COUNT(*), MAX(running) FROM (SELECT SUM(l_quantity) OVER (PARTITION BY l_suppkey ORDER BY l_shipdate, l_orderkey, l_linenumber) AS running FROM lineitem
        WHERE l_shipdate >= DATE '1997-01-01') AS w""",
    "moving average": """SELECT d, AVG(total) OVER (ORDER BY d ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM (SELECT o_orderdate AS d, SUM(o_totalprice) AS total
        FROM orders GROUP BY o_orderdate) AS days ORDER BY d LIMIT 30""",
    "lag": """SELECT COUNT(*) FROM (SELECT o_totalprice - LAG(o_totalprice) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) AS grown FROM orders) AS w WHERE grown > 100000""",
    "share of partition": """SELECT n_name, c_mktsegment, total, total / SUM(total) OVER (PARTITION BY n_name) AS share FROM (SELECT n_name, c_mktsegment, SUM(c_acctbal) AS total
        FROM customer, nation WHERE c_nationkey = n_nationkey GROUP BY n_name, c_mktsegment) AS t ORDER BY n_name, c_mktsegment LIMIT 20""",
    "rank in groups": """SELECT p_brand, p_type, n, r FROM (SELECT p_brand, p_type, COUNT(*) AS n, RANK() OVER (PARTITION BY p_brand ORDER BY COUNT(*) DESC) AS r FROM part
        GROUP BY p_brand, p_type) AS t WHERE r <= 2 ORDER BY p_brand, r, p_type LIMIT 30""",
    # Joins.
    "many to many": """SELECT COUNT(*), SUM(a.ps_availqty) FROM partsupp a, partsupp b WHERE a.ps_suppkey = b.ps_suppkey AND a.ps_partkey < b.ps_partkey AND a.ps_availqty > 5000""",
    "text keys": """SELECT COUNT(*), SUM(o_totalprice) FROM orders, (SELECT DISTINCT o_clerk AS clerk FROM orders WHERE o_totalprice > 450000) AS c WHERE o_clerk = clerk""",
    "keys of two columns": """SELECT COUNT(*), SUM(l_extendedprice - ps_supplycost * l_quantity) FROM lineitem, partsupp WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey""",
    "outer join none": "SELECT COUNT(*) FROM customer LEFT JOIN orders ON c_custkey = o_custkey WHERE o_orderkey IS NULL",
    "outer join conditions": """SELECT c_mktsegment, COUNT(o_orderkey) AS n, SUM(o_totalprice) AS total FROM customer LEFT JOIN orders ON c_custkey = o_custkey AND o_orderdate >= DATE '1997-01-01'
        AND o_orderstatus = 'O' GROUP BY c_mktsegment ORDER BY c_mktsegment""",
    "outer joins": """SELECT n_name, COUNT(DISTINCT s_suppkey) AS suppliers, COUNT(DISTINCT c_custkey) AS customers FROM nation LEFT JOIN supplier ON s_nationkey = n_nationkey AND s_acctbal > 9000
        LEFT JOIN customer ON c_nationkey = n_nationkey AND c_acctbal > 9900 GROUP BY n_name ORDER BY n_name""",
    "join of all": """SELECT r_name, EXTRACT(YEAR FROM o_orderdate) AS y, SUM(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem JOIN orders ON o_orderkey = l_orderkey
        JOIN customer ON c_custkey = o_custkey JOIN nation ON n_nationkey = c_nationkey JOIN region ON r_regionkey = n_regionkey GROUP BY r_name, y ORDER BY r_name, y""",
    "range join": """SELECT COUNT(*) FROM nation a, nation b, supplier s, supplier t WHERE s.s_nationkey = a.n_nationkey AND t.s_nationkey = b.n_nationkey AND a.n_regionkey = b.n_regionkey
        AND s.s_acctbal < t.s_acctbal - 9000""",
    "self join by order": """SELECT COUNT(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey AND a.l_linenumber = b.l_linenumber + 1 WHERE a.l_shipdate < b.l_shipdate""",
    "condition over two tables": """SELECT l_shipmode, COUNT(*) FROM orders, lineitem WHERE o_orderkey = l_orderkey AND (l_shipdate > o_orderdate + INTERVAL '100' DAY OR o_totalprice < l_extendedprice * 1.05)
        GROUP BY l_shipmode ORDER BY l_shipmode""",
    # Subqueries.
    "in or": """SELECT COUNT(*) FROM orders WHERE o_totalprice > 400000 OR o_custkey IN (SELECT c_custkey FROM customer WHERE c_acctbal > 9900)""",
    "exists or": """SELECT COUNT(*) FROM customer WHERE c_acctbal < -900 OR EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey AND o_totalprice > 450000)""",
    "scalar in list": """SELECT c_custkey, (SELECT COUNT(*) FROM orders WHERE o_custkey = c_custkey) AS orders, (SELECT MAX(o_totalprice) FROM orders WHERE o_custkey = c_custkey) AS most
        FROM customer WHERE c_mktsegment = 'BUILDING' ORDER BY orders DESC, c_custkey LIMIT 10""",
    "above average": """SELECT COUNT(*) FROM lineitem l WHERE l_extendedprice > (SELECT 1.5 * AVG(l_extendedprice) FROM lineitem i WHERE i.l_suppkey = l.l_suppkey)""",
    "not in": "SELECT COUNT(*) FROM part WHERE p_partkey NOT IN (SELECT ps_partkey FROM partsupp WHERE ps_supplycost < 20)",
    "exists unequal": """SELECT COUNT(*) FROM orders o WHERE EXISTS (SELECT 1 FROM orders p WHERE p.o_custkey = o.o_custkey AND p.o_orderkey <> o.o_orderkey AND p.o_orderdate = o.o_orderdate)""",
    "any and all": """SELECT COUNT(*) FROM part WHERE p_retailprice >= ALL (SELECT ps_supplycost FROM partsupp WHERE ps_partkey = p_partkey AND ps_availqty > 9000)""",
    "first of each": """SELECT SUM(total) FROM (SELECT (SELECT o_totalprice FROM orders WHERE o_custkey = c_custkey ORDER BY o_orderdate, o_orderkey LIMIT 1) AS total FROM customer) AS f""",
    "nested": """SELECT COUNT(*) FROM supplier WHERE EXISTS (SELECT 1 FROM partsupp WHERE ps_suppkey = s_suppkey AND ps_availqty > (SELECT AVG(l_quantity) * 200 FROM lineitem
        WHERE l_partkey = ps_partkey AND l_suppkey = s_suppkey))""",
    # Common tables, sets.
    "common table twice": """WITH y AS (SELECT o_custkey AS k, EXTRACT(YEAR FROM o_orderdate) AS y, SUM(o_totalprice) AS total FROM orders GROUP BY k, y)
        SELECT a.y, COUNT(*) AS grown FROM y a JOIN y b ON a.k = b.k AND a.y = b.y + 1 WHERE a.total > 2 * b.total GROUP BY a.y ORDER BY a.y""",
    "largest by common table": """WITH revenue AS (SELECT l_suppkey AS k, SUM(l_extendedprice * (1 - l_discount)) AS total FROM lineitem GROUP BY l_suppkey)
        SELECT s_name, total FROM supplier, revenue WHERE k = s_suppkey AND total > (SELECT AVG(total) * 1.2 FROM revenue) ORDER BY total DESC, s_name LIMIT 10""",
    "union": """SELECT kind, COUNT(*), SUM(v) FROM (SELECT 'c' AS kind, c_acctbal AS v FROM customer UNION ALL SELECT 's', s_acctbal FROM supplier UNION ALL SELECT 'p', p_retailprice FROM part) AS u
        GROUP BY kind ORDER BY kind""",
    "except": "SELECT COUNT(*) FROM (SELECT c_custkey FROM customer EXCEPT SELECT o_custkey FROM orders WHERE o_orderdate >= DATE '1995-01-01') AS e",
    # Texts and dates.
    "like": "SELECT COUNT(*) FROM orders WHERE o_comment LIKE '%special%requests%' AND o_clerk LIKE 'Clerk#00000001%'",
    "like join": """SELECT p_brand, COUNT(*) AS n FROM part, lineitem WHERE l_partkey = p_partkey AND p_name LIKE '%green%' AND l_comment LIKE '%final%' GROUP BY p_brand ORDER BY n DESC, p_brand LIMIT 5""",
    "upper and length": "SELECT LENGTH(p_name) AS l, COUNT(*) AS n, MAX(UPPER(p_container)) AS c FROM part GROUP BY l ORDER BY l",
    "week days": ("SELECT WEEKDAY(o_orderdate) AS d, COUNT(*) AS n, AVG(o_totalprice) AS average FROM orders GROUP BY d ORDER BY d",
        "SELECT isodow(o_orderdate) - 1 AS d, COUNT(*) AS n, AVG(o_totalprice) AS average FROM orders GROUP BY d ORDER BY d"),
    "days between": ("SELECT DATEDIFF(l_receiptdate, l_shipdate) AS days, COUNT(*) AS n FROM lineitem GROUP BY days ORDER BY days",
        "SELECT l_receiptdate - l_shipdate AS days, COUNT(*) AS n FROM lineitem GROUP BY days ORDER BY days"),
}
