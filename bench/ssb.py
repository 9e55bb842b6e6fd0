#!/usr/bin/env python3
"""Star Schema Benchmark data: five CSV files by the benchmark's rules, from a fixed seed.

usage: bench/ssb.py DIR [--scale N] [--part-rows N] [--lines N] [--seed N]

The rules are those of O'Neil, O'Neil and Chen, "Star Schema Benchmark" (revision 3, 2009): LINEORDER holds 1,500,000 orders
per scale with one to seven lines each, PART 200,000 × (1 + log2 scale), SUPPLIER 2,000 and CUSTOMER 30,000 per scale, DATE
the seven years from 1992. Fields are separated by commas; none holds a comma or a quote.
"""
import argparse, calendar, datetime, math, os, random

REGIONS = {
    "AFRICA": ["ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"],
    "AMERICA": ["ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"],
    "ASIA": ["INDIA", "INDONESIA", "JAPAN", "CHINA", "VIETNAM"],
    "EUROPE": ["FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"],
    "MIDDLE EAST": ["EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"],
}
NATIONS = [(nation, region) for region, nations in REGIONS.items() for nation in nations]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECI", "5-LOW"]
MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
COLORS = """almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse chiffon
chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest frosted gainsboro ghost
goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light lime linen magenta maroon medium metallic
midnight mint misty moccasin navajo navy olive orange orchid pale papaya peach peru pink plum powder puff purple red rose
rosy royal saddle salmon sandy seashell sienna sky slate smoke snow spring steel tan thistle tomato turquoise violet wheat
white yellow""".split()
TYPES = [f"{a} {b} {c}" for a in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
         for b in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED") for c in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")]
CONTAINERS = [f"{a} {b}" for a in ("SM", "LG", "MED", "JUMBO", "WRAP") for b in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")]
FIRST, LAST = datetime.date(1992, 1, 1), datetime.date(1998, 12, 31)
LAST_ORDER = datetime.date(1998, 8, 2)

SCHEMA = {
    "date": "d_datekey INT PRIMARY KEY, d_date VARCHAR(18) NOT NULL, d_dayofweek VARCHAR(9) NOT NULL, d_month VARCHAR(9) NOT NULL, d_year INT NOT NULL, d_yearmonthnum INT NOT NULL, d_yearmonth VARCHAR(7) NOT NULL, d_daynuminweek INT NOT NULL, d_daynuminmonth INT NOT NULL, d_daynuminyear INT NOT NULL, d_monthnuminyear INT NOT NULL, d_weeknuminyear INT NOT NULL, d_sellingseason VARCHAR(12) NOT NULL, d_lastdayinweekfl INT NOT NULL, d_lastdayinmonthfl INT NOT NULL, d_holidayfl INT NOT NULL, d_weekdayfl INT NOT NULL",
    "supplier": "s_suppkey INT PRIMARY KEY, s_name VARCHAR(25) NOT NULL, s_address VARCHAR(25) NOT NULL, s_city VARCHAR(10) NOT NULL, s_nation VARCHAR(15) NOT NULL, s_region VARCHAR(12) NOT NULL, s_phone VARCHAR(15) NOT NULL",
    "customer": "c_custkey INT PRIMARY KEY, c_name VARCHAR(25) NOT NULL, c_address VARCHAR(25) NOT NULL, c_city VARCHAR(10) NOT NULL, c_nation VARCHAR(15) NOT NULL, c_region VARCHAR(12) NOT NULL, c_phone VARCHAR(15) NOT NULL, c_mktsegment VARCHAR(10) NOT NULL",
    "part": "p_partkey INT PRIMARY KEY, p_name VARCHAR(22) NOT NULL, p_mfgr VARCHAR(6) NOT NULL, p_category VARCHAR(7) NOT NULL, p_brand VARCHAR(9) NOT NULL, p_color VARCHAR(11) NOT NULL, p_type VARCHAR(25) NOT NULL, p_size INT NOT NULL, p_container VARCHAR(10) NOT NULL",
    "lineorder": "lo_orderkey INT NOT NULL, lo_linenumber INT NOT NULL, lo_custkey INT NOT NULL, lo_partkey INT NOT NULL, lo_suppkey INT NOT NULL, lo_orderdate INT NOT NULL, lo_orderpriority VARCHAR(15) NOT NULL, lo_shippriority VARCHAR(1) NOT NULL, lo_quantity INT NOT NULL, lo_extendedprice INT NOT NULL, lo_ordtotalprice INT NOT NULL, lo_discount INT NOT NULL, lo_revenue INT NOT NULL, lo_supplycost INT NOT NULL, lo_tax INT NOT NULL, lo_commitdate INT NOT NULL, lo_shipmode VARCHAR(10) NOT NULL, PRIMARY KEY (lo_orderkey, lo_linenumber)",
}


# The thirteen queries of the benchmark, as its authors give them.
QUERIES = {
    "Q1.1": "SELECT SUM(lo_extendedprice * lo_discount) FROM lineorder, dates WHERE lo_orderdate = d_datekey AND d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25",
    "Q1.2": "SELECT SUM(lo_extendedprice * lo_discount) FROM lineorder, dates WHERE lo_orderdate = d_datekey AND d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35",
    "Q1.3": "SELECT SUM(lo_extendedprice * lo_discount) FROM lineorder, dates WHERE lo_orderdate = d_datekey AND d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7 AND lo_quantity BETWEEN 26 AND 35",
    "Q2.1": "SELECT SUM(lo_revenue), d_year, p_brand FROM lineorder, dates, part, supplier WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND p_category = 'MFGR#12' AND s_region = 'AMERICA' GROUP BY d_year, p_brand ORDER BY d_year, p_brand",
    "Q2.2": "SELECT SUM(lo_revenue), d_year, p_brand FROM lineorder, dates, part, supplier WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND p_brand BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA' GROUP BY d_year, p_brand ORDER BY d_year, p_brand",
    "Q2.3": "SELECT SUM(lo_revenue), d_year, p_brand FROM lineorder, dates, part, supplier WHERE lo_orderdate = d_datekey AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND p_brand = 'MFGR#2239' AND s_region = 'EUROPE' GROUP BY d_year, p_brand ORDER BY d_year, p_brand",
    "Q3.1": "SELECT c_nation, s_nation, d_year, SUM(lo_revenue) AS revenue FROM customer, lineorder, supplier, dates WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey AND c_region = 'ASIA' AND s_region = 'ASIA' AND d_year >= 1992 AND d_year <= 1997 GROUP BY c_nation, s_nation, d_year ORDER BY d_year ASC, revenue DESC",
    "Q3.2": "SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue FROM customer, lineorder, supplier, dates WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey AND c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' AND d_year >= 1992 AND d_year <= 1997 GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC",
    "Q3.3": "SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue FROM customer, lineorder, supplier, dates WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey AND (c_city = 'UNITED KI1' OR c_city = 'UNITED KI5') AND (s_city = 'UNITED KI1' OR s_city = 'UNITED KI5') AND d_year >= 1992 AND d_year <= 1997 GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC",
    "Q3.4": "SELECT c_city, s_city, d_year, SUM(lo_revenue) AS revenue FROM customer, lineorder, supplier, dates WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_orderdate = d_datekey AND (c_city = 'UNITED KI1' OR c_city = 'UNITED KI5') AND (s_city = 'UNITED KI1' OR s_city = 'UNITED KI5') AND d_yearmonth = 'Dec1997' GROUP BY c_city, s_city, d_year ORDER BY d_year ASC, revenue DESC",
    "Q4.1": "SELECT d_year, c_nation, SUM(lo_revenue - lo_supplycost) AS profit FROM dates, customer, supplier, part, lineorder WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey AND c_region = 'AMERICA' AND s_region = 'AMERICA' AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2') GROUP BY d_year, c_nation ORDER BY d_year, c_nation",
    "Q4.2": "SELECT d_year, s_nation, p_category, SUM(lo_revenue - lo_supplycost) AS profit FROM dates, customer, supplier, part, lineorder WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey AND c_region = 'AMERICA' AND s_region = 'AMERICA' AND (d_year = 1997 OR d_year = 1998) AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2') GROUP BY d_year, s_nation, p_category ORDER BY d_year, s_nation, p_category",
    "Q4.3": "SELECT d_year, s_city, p_brand, SUM(lo_revenue - lo_supplycost) AS profit FROM dates, customer, supplier, part, lineorder WHERE lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND lo_partkey = p_partkey AND lo_orderdate = d_datekey AND c_region = 'AMERICA' AND s_nation = 'UNITED STATES' AND (d_year = 1997 OR d_year = 1998) AND p_category = 'MFGR#14' GROUP BY d_year, s_city, p_brand ORDER BY d_year, s_city, p_brand",
}


def create_table(name, engine=""):
    """The CREATE TABLE statement of one of the five tables (`date` is called `dates`)."""
    return f"CREATE TABLE {'dates' if name == 'date' else name} ({SCHEMA[name]}) {engine}"


def city(nation, rng):
    return f"{nation[:9]:<9}{rng.randrange(10)}"


def phone(rng, nation_index):
    return f"{10 + nation_index}-{rng.randrange(100, 1000)}-{rng.randrange(100, 1000)}-{rng.randrange(1000, 10000)}"


def address(rng):
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ", k=rng.randrange(10, 26))).strip() or "x"


def days():
    day = FIRST
    while day <= LAST:
        yield day
        day += datetime.timedelta(1)


def write_dates(path):
    seasons = ["Winter", "Spring", "Summer", "Fall"]
    with open(path, "w") as out:
        for d in days():
            year_day = d.timetuple().tm_yday
            week_day = (d.weekday() + 1) % 7 + 1
            last = d.day == calendar.monthrange(d.year, d.month)[1]
            season = "Christmas" if d.month == 12 else seasons[(d.month % 12) // 3]
            holiday = (d.month, d.day) in ((1, 1), (7, 4), (12, 25))
            out.write(f"{d:%Y%m%d},{d:%B} {d.day} {d.year},{d:%A},{d:%B},{d.year},{d:%Y%m},{d:%b}{d.year},{week_day},{d.day},{year_day},"
                      f"{d.month},{(year_day - 1) // 7 + 1},{season},{int(week_day == 7)},{int(last)},{int(holiday)},{int(1 < week_day < 7)}\n")


def write_people(path, count, kind, rng):
    with open(path, "w") as out:
        for key in range(1, count + 1):
            index = rng.randrange(25)
            nation, region = NATIONS[index]
            segment = "," + rng.choice(SEGMENTS) if kind == "Customer" else ""
            out.write(f"{key},{kind}#{key:09d},{address(rng)},{city(nation, rng)},{nation},{region},{phone(rng, index)}{segment}\n")


def write_parts(path, count, rng):
    with open(path, "w") as out:
        for key in range(1, count + 1):
            a, b = rng.sample(COLORS, 2)
            mfgr, category, brand = rng.randrange(1, 6), rng.randrange(1, 6), rng.randrange(1, 41)
            out.write(f"{key},{a} {b},MFGR#{mfgr},MFGR#{mfgr}{category},MFGR#{mfgr}{category}{brand},{rng.choice(COLORS)},{rng.choice(TYPES)},"
                      f"{rng.randrange(1, 51)},{rng.choice(CONTAINERS)}\n")


def write_lines(path, scale, parts, customers, suppliers, limit, rng):
    keys = [f"{d:%Y%m%d}" for d in days()]
    last_order = (LAST_ORDER - FIRST).days
    rand, written, block = rng.random, 0, []
    with open(path, "w") as out:
        order = 0
        while written < limit if limit else order < 1500000 * scale:
            order += 1
            # Keys are sparse as in TPC-H: the first eight of each 32.
            order_key = ((order - 1) >> 3 << 5) + ((order - 1) & 7) + 1
            customer, day = int(rand() * customers) + 1, int(rand() * (last_order + 1))
            priority, lines, total = PRIORITIES[int(rand() * 5)], [], 0
            for _ in range(int(rand() * 7) + 1):
                part, quantity = int(rand() * parts) + 1, int(rand() * 50) + 1
                discount, tax = int(rand() * 11), int(rand() * 9)
                # Retail price in cents: TPC-H's formula, which the benchmark keeps.
                unit = 90000 + (part // 10) % 20001 + 100 * (part % 1000)
                extended = quantity * unit
                total += extended * (100 - discount) // 100 * (100 + tax) // 100
                commit = keys[min(day + 30 + int(rand() * 61), len(keys) - 1)]
                lines.append((part, int(rand() * suppliers) + 1, quantity, extended, discount, extended * (100 - discount) // 100, 6 * unit // 10, tax, commit, MODES[int(rand() * 7)]))
            date = keys[day]
            for number, (part, supplier, quantity, extended, discount, revenue, cost, tax, commit, mode) in enumerate(lines, 1):
                block.append(f"{order_key},{number},{customer},{part},{supplier},{date},{priority},0,{quantity},{extended},{total},{discount},{revenue},{cost},{tax},{commit},{mode}\n")
            written += len(lines)
            if len(block) > 20000:
                out.writelines(block)
                block = []
        out.writelines(block)
    return written


def generate(folder, scale=1, part_rows=None, lines=None, seed=1):
    """Writes the five files unless they are there already for the same arguments; returns the number of lineorder rows."""
    os.makedirs(folder, exist_ok=True)
    stamp = os.path.join(folder, "generated")
    words = f"{scale} {part_rows} {lines} {seed}"
    if os.path.exists(stamp):
        kept, _, rows = open(stamp).read().partition("\n")
        if kept == words:
            return int(rows)
    parts = part_rows or int(200000 * (1 + math.log2(max(scale, 1))))
    customers, suppliers = 30000 * scale, 2000 * scale
    write_dates(f"{folder}/date.csv")
    write_people(f"{folder}/supplier.csv", suppliers, "Supplier", random.Random(seed + 1))
    write_people(f"{folder}/customer.csv", customers, "Customer", random.Random(seed + 2))
    write_parts(f"{folder}/part.csv", parts, random.Random(seed + 3))
    rows = write_lines(f"{folder}/lineorder.csv", scale, parts, customers, suppliers, lines, random.Random(seed + 4))
    open(stamp, "w").write(f"{words}\n{rows}")
    return rows


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir"), p.add_argument("--scale", type=int, default=1), p.add_argument("--part-rows", type=int)
    p.add_argument("--lines", type=int), p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    print(generate(a.dir, a.scale, a.part_rows, a.lines, a.seed), "lineorder rows in", a.dir)
