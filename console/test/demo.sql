-- A small shop: what the tests of the console and its pictures show.
DROP DATABASE IF EXISTS shop;
CREATE DATABASE shop;
USE shop;
CREATE TABLE customer (
  id INT PRIMARY KEY AUTO_INCREMENT,
  name VARCHAR(60) NOT NULL,
  country CHAR(2) NOT NULL,
  note TEXT,
  token VARBINARY(16),
  created DATETIME NOT NULL,
  KEY by_country (country)
);
CREATE TABLE orders (
  id INT PRIMARY KEY AUTO_INCREMENT,
  customer_id INT NOT NULL,
  day DATE NOT NULL,
  amount DECIMAL(10,2) NOT NULL,
  state ENUM('open','paid','sent','returned') NOT NULL,
  KEY by_customer (customer_id),
  KEY by_day (day)
);
CREATE TABLE visit (at DATETIME NOT NULL, page VARCHAR(40) NOT NULL, ms INT NOT NULL) ENGINE=COLUMN;
CREATE TABLE `<img src=x onerror=alert(1)>` (`<script>alert(2)</script>` INT);
INSERT INTO customer (name, country, note, token, created)
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 800)
SELECT CONCAT(ELT(1 + i % 10, 'Ada', 'Grace', 'Linus', 'Barbara', 'Edsger', 'Frances', 'Donald', 'Radia', 'Ken', 'Sophie'), ' ',
              ELT(1 + i % 7, 'Moreau', 'Okafor', 'Lindqvist', 'Tanaka', 'Novak', 'Silva', 'Haddad')),
       ELT(1 + i % 8, 'DE', 'FR', 'BR', 'JP', 'SE', 'NG', 'US', 'IN'),
       IF(i % 3 = 0, NULL, CONCAT('note ', i)), UNHEX(MD5(i)), '2025-01-01' + INTERVAL i HOUR
FROM n;
INSERT INTO customer (name, country, note, created) VALUES ('<script>alert(3)</script>', 'XX', '<b onmouseover=alert(4)>bold</b>', '2025-06-01');
INSERT INTO orders (customer_id, day, amount, state)
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900)
SELECT 1 + (a.i * 7 + b.i * 13) % 800, '2025-01-01' + INTERVAL (a.i * 3 + b.i * 11) % 365 DAY,
       10 + (a.i * 37 + b.i * 101) % 4900 / 10, 1 + (a.i + b.i) % 4
FROM n a JOIN n b ON b.i <= 40;
INSERT INTO visit
WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 900)
SELECT '2025-01-01' + INTERVAL a.i * b.i MINUTE, ELT(1 + (a.i + b.i) % 4, '/', '/search', '/cart', '/about'), 3 + (a.i * 31 + b.i) % 240
FROM n a JOIN n b ON b.i <= 40;
ANALYZE TABLE customer, orders, visit;
