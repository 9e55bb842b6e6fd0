"""Queries of the full planner whose literals differ each time: microseconds of each, beside MariaDB and without kept plans."""
import random, statistics, time
from connections import Client

CUSTOMERS, ORDERS = 10_000, 50_000
TABLES = f"""
CREATE DATABASE literals; USE literals;
CREATE TABLE numbers (n INT PRIMARY KEY);
INSERT INTO numbers WITH RECURSIVE r (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r WHERE i < 999) SELECT i FROM r;
CREATE TABLE customers (id INT PRIMARY KEY, city INT, name VARCHAR(30), KEY (city));
CREATE TABLE orders (id INT PRIMARY KEY, customer INT, day INT, total INT, KEY (customer), KEY (day));
CREATE TABLE items (id INT PRIMARY KEY, `order` INT, product INT, KEY (`order`));
INSERT INTO customers SELECT a.n * 10 + b.n, (a.n * 10 + b.n) % 100, CONCAT('customer ', a.n, ' ', b.n) FROM numbers a JOIN numbers b ON b.n < 10;
INSERT INTO orders SELECT a.n * 50 + b.n, (a.n * 50 + b.n) * 7 % {CUSTOMERS}, (a.n * 50 + b.n) % 500, a.n % 97 FROM numbers a JOIN numbers b ON b.n < 50;
INSERT INTO items SELECT id * 2, id, id % 31 FROM orders;
INSERT INTO items SELECT id * 2 + 1, id, id % 29 FROM orders;
"""
# Each of two literals, with the least and the greatest value of both.
QUERIES = {
    "join of three tables by key, 1,000 rows, ORDER BY, LIMIT 10": (
        lambda a, b: f"SELECT c.name, o.day, i.product FROM customers c JOIN orders o ON o.customer = c.id JOIN items i ON i.`order` = o.id WHERE c.city = {a} AND o.total > {b} ORDER BY i.id LIMIT 10",
        [(0, 99), (0, 9)]),
    "sums of 1,000 rows in 10 groups": (
        lambda a, b: f"SELECT day, COUNT(*), SUM(total) FROM orders WHERE day BETWEEN {a} AND {a + 9} AND total > {b} GROUP BY day ORDER BY day",
        [(0, 480), (0, 9)]),
    "EXISTS, 100 rows with 5 each": (
        lambda a, b: f"SELECT c.id FROM customers c WHERE c.city = {a} AND EXISTS (SELECT 1 FROM orders o WHERE o.customer = c.id AND o.total > {b}) ORDER BY c.id",
        [(0, 99), (60, 69)]),
    "derived table with groups, joined by key": (
        lambda a, b: f"SELECT c.name, s.spent FROM (SELECT customer, SUM(total) AS spent FROM orders WHERE day = {a} GROUP BY customer) s JOIN customers c ON c.id = s.customer WHERE c.city < {b} ORDER BY c.id",
        [(0, 499), (40, 60)]),
}


def microseconds(client, query, ranges, count):
    """The median of one connection's times."""
    choices, times = random.Random(1), []
    for _ in range(count):
        text = query(*(choices.randint(*bounds) for bounds in ranges))
        started = time.perf_counter()
        client.run(text)
        times.append(time.perf_counter() - started)
    return round(statistics.median(times) * 1e6)


def run(server, count):
    """Medians by query, and for Squall those without kept plans."""
    with server:
        return of_server(server, count)


def of_server(server, count):
    server.sql(TABLES + "ANALYZE TABLE customers, orders, items;")
    client = Client(server.port)
    client.run("USE literals")
    found = {name: microseconds(client, query, ranges, count) for name, (query, ranges) in QUERIES.items()}
    if server.name != "squall":
        return found, None
    server.sql("SET GLOBAL plan_cache_size = 0")
    client = Client(server.port)
    client.run("USE literals")
    return found, {name: microseconds(client, query, ranges, count) for name, (query, ranges) in QUERIES.items()}
