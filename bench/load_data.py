#!/usr/bin/env python3
"""Data of the load comparison: lineorder rows with ten random words, as a tab-separated file, from a fixed seed.

usage: bench/load_data.py DIR [--rows N] [--seed N]

Set A, "not very compressible": N rows, each with ten words of a dictionary of 100,000. Set B, "phrase": a third as many rows,
each with ten words repeated six times. Both sets are of about the same size.
"""
import argparse, itertools, os, random
import ssb

COLUMNS = """LO_OrderKey BIGINT NOT NULL, LO_LineNumber TINYINT NOT NULL, LO_CustKey INT NOT NULL, LO_PartKey INT NOT NULL, LO_SuppKey INT NOT NULL, LO_OrderDateKey INT NOT NULL,
LO_OrderPriority VARCHAR(15), LO_ShipPriority CHAR(1), LO_Quantity TINYINT, LO_ExtendedPrice DECIMAL, LO_OrdTotalPrice DECIMAL, LO_Discount DECIMAL, LO_Revenue DECIMAL, LO_SupplyCost DECIMAL,
LO_Tax TINYINT, LO_CommitDateKey INT NOT NULL, LO_ShipMode VARCHAR(10), extra_data TEXT"""
KEYS = ["LO_CustKey", "LO_OrderDateKey", "LO_SuppKey", "LO_PartKey"]
PHRASE_REPEATS = 6


def dictionary(rng, count=100000):
    """Pseudo-words of 4 to 14 letters."""
    syllables = ["".join(pair) for pair in itertools.product("bcdfghklmnprstvw", "aeiou")] + ["tion", "ness", "ing", "est", "er", "al"]
    words = set()
    while len(words) < count:
        words.add("".join(rng.choices(syllables, k=rng.randrange(2, 7))))
    return sorted(words)


def generate(folder, rows, seed=1):
    """Writes a.tsv and b.tsv unless they are there already for the same arguments; returns their numbers of rows."""
    lines = ssb.generate(folder, 1, 1000, rows, seed)
    counts = {"a": rows, "b": rows // 3}
    stamp = os.path.join(folder, "load-generated")
    words = f"{rows} {seed} {lines}"
    if os.path.exists(stamp) and open(stamp).read() == words:
        return counts
    rng = random.Random(seed + 10)
    vocabulary = dictionary(rng)
    for name, count in counts.items():
        with open(f"{folder}/lineorder.csv") as source, open(f"{folder}/{name}.tsv", "w") as out:
            while count:
                block = list(itertools.islice(source, min(count, 20000)))
                count -= len(block)
                chosen = rng.choices(vocabulary, k=10 * len(block))
                for at, line in enumerate(block):
                    extra = " ".join(chosen[10 * at:10 * at + 10])
                    if name == "b":
                        extra = " ".join([extra] * PHRASE_REPEATS)
                    out.write(f"{line[:-1]},{extra}\n".replace(",", "\t"))
    open(stamp, "w").write(words)
    return counts


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir"), p.add_argument("--rows", type=int, default=2000000), p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    print(generate(a.dir, a.rows, a.seed), "rows in", a.dir)
