#!/usr/bin/env python3
"""Pages of WordPress: what a page costs the database server, beside MariaDB, in one run.

usage: bench/wordpress.py [--posts N] [--rounds N] [--queries] [--binary FILE] [--profile release] [--record]

An unchanged WordPress is installed in each server, gets posts with categories, tags and comments, and renders its pages: the front page, a
category, a tag, a month, a search, a post. Each page is a process of PHP. What counts is the processor time of the server for each page
and the time that PHP waits for queries; the pages of both servers must be the same. `--queries` shows the slowest ones of each page.

Needs Debian's packages wordpress, wordpress-theme-twentytwentyone, php-cli and php-mysql, and MariaDB.
"""
import argparse, json, os, pathlib, re, shutil, statistics, subprocess, tempfile

from peers import MariaDB, Squall, record

SOURCES = ["/usr/share/wordpress", "/var/lib/wordpress"]
PAGES = {"front": "/", "second": "/?paged=2", "category": "/?cat=3", "tag": "/?tag=tag3", "month": "/?m=202101", "search": "/?s=sit+17", "post": "/?p=100"}

CONFIG = """<?php
define('DB_NAME', 'wp'); define('DB_USER', 'root'); define('DB_PASSWORD', ''); define('DB_HOST', getenv('DATABASE')); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
foreach (['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT', 'LOGGED_IN_SALT', 'NONCE_SALT'] as $key) define($key, $key);
$table_prefix = 'wp_';
define('DISABLE_WP_CRON', true); define('WP_HTTP_BLOCK_EXTERNAL', true); define('AUTOMATIC_UPDATER_DISABLED', true); define('SAVEQUERIES', true);
if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');
require_once ABSPATH . 'wp-settings.php';
"""
REQUEST = """<?php
$_SERVER['HTTP_HOST'] = $_SERVER['SERVER_NAME'] = 'localhost'; $_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1'; $_SERVER['REQUEST_METHOD'] = 'GET'; $_SERVER['PHP_SELF'] = '/index.php';
"""
INSTALL = REQUEST + """
$_SERVER['REQUEST_URI'] = '/'; define('WP_INSTALLING', true);
require 'wp-load.php'; require_once ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('A blog', 'admin', 'admin@example.com', true, '', 'secret');
wp_delete_post(1, true);
for ($i = 0; $i < $argv[1]; $i++) {
    $term = get_term_by('name', 'category ' . $i % 20, 'category');
    $category = $term ? $term->term_id : wp_insert_term('category ' . $i % 20, 'category')['term_id'];
    $time = gmdate('Y-m-d H:i:s', 1600000000 + $i * 100000);
    $post = wp_insert_post(['post_title' => "Post $i", 'post_content' => str_repeat("lorem ipsum dolor sit $i amet ", 100), 'post_status' => 'publish', 'post_author' => 1,
        'post_category' => [$category], 'tags_input' => ['tag' . $i % 50, 'tag' . $i % 7], 'post_date' => $time, 'post_date_gmt' => $time]);
    for ($j = 0; $j < 3; $j++) {
        $time = gmdate('Y-m-d H:i:s', 1600000000 + $i * 100000 + $j);
        wp_insert_comment(['comment_post_ID' => $post, 'comment_content' => "comment $j", 'comment_author' => "reader $j",
            'comment_approved' => 1, 'comment_date' => $time, 'comment_date_gmt' => $time]);
    }
}
switch_theme('twentytwentyone'); update_option('siteurl', 'http://localhost'); update_option('home', 'http://localhost');
"""
PAGE = REQUEST + """
$_SERVER['REQUEST_URI'] = $argv[1]; $_SERVER['QUERY_STRING'] = parse_url($argv[1])['query'] ?? ''; parse_str($_SERVER['QUERY_STRING'], $_GET);
ob_start(); define('WP_USE_THEMES', true); require 'wp-blog-header.php'; $page = ob_get_clean();
echo json_encode(['page' => $page, 'queries' => array_map(fn($query) => [$query[1] * 1000, $query[0]], $wpdb->queries)]);
"""


def copy_wordpress(folder):
    if not os.path.exists(SOURCES[0]):
        raise SystemExit("WordPress is not installed: apt-get install wordpress wordpress-theme-twentytwentyone php-cli php-mysql")
    site = pathlib.Path(folder, "site")
    shutil.copytree(SOURCES[0], site, ignore_dangling_symlinks=True)
    for source in SOURCES:
        shutil.copytree(f"{source}/wp-content/themes", site / "wp-content/themes", dirs_exist_ok=True, ignore_dangling_symlinks=True)
    for name, text in (("wp-config.php", CONFIG), ("install.php", INSTALL), ("page.php", PAGE)):
        (site / name).unlink(missing_ok=True)
        (site / name).write_text(text)
    return site


def php(site, server, script, argument):
    done = subprocess.run(["php", "-d", "display_errors=stderr", script, argument], cwd=site, env={**os.environ, "DATABASE": f"127.0.0.1:{server.port}"}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{server.name}: {script} {argument}: {done.stderr[-2000:]}")
    return done.stdout


def measure(server, site, a):
    server.sql("CREATE DATABASE wp")
    php(site, server, "install.php", str(a.posts))
    found = {}
    for name, address in PAGES.items():
        shown = php(site, server, "page.php", address)
        pages, cpu = [], server.cpu_seconds()
        for _ in range(a.rounds):
            pages.append(json.loads(php(site, server, "page.php", address)))
        cpu = (server.cpu_seconds() - cpu) / a.rounds
        waited = [sum(time for time, _ in page["queries"]) for page in pages]
        found[name] = {"queries": len(pages[-1]["queries"]), "cpu_ms": round(cpu * 1000, 2), "waited_ms": round(statistics.median(waited), 2), "page": json.loads(shown)["page"]}
        if a.queries:
            print(f"{server.name}, {name}:")
            times = [(statistics.median(times), query) for times, query in zip(zip(*[[time for time, _ in page["queries"]] for page in pages]), [query for _, query in pages[-1]["queries"]])]
            for time, query in sorted(times, reverse=True)[:5]:
                print(f"  {time:7.2f} ms  {' '.join(query.split())[:300]}")
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--posts", type=int, default=300), p.add_argument("--rounds", type=int, default=20), p.add_argument("--queries", action="store_true")
    p.add_argument("--profile", default="release"), p.add_argument("--binary"), p.add_argument("--record", action="store_true")
    a = p.parse_args()
    folder, found = tempfile.mkdtemp(prefix="bench-wordpress-"), {}
    try:
        site = copy_wordpress(folder)
        for server in (Squall(a.profile, binary=a.binary), MariaDB()):
            with server:
                found[server.name] = measure(server, site, a)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{'page':10} {'queries':>8} {'processor of the server, ms':>36} {'PHP waits for queries, ms':>36}")
    for name in PAGES:
        squall, mariadb = found["squall"][name], found["mariadb"][name]
        # The host of an avatar is chosen at random.
        same = len({re.sub(r"//\d\.gravatar", "//gravatar", side.pop("page")) for side in (squall, mariadb)}) == 1
        figures = "".join(f"{squall[kind]:12.2f} {mariadb[kind]:12.2f} {squall[kind] / max(mariadb[kind], 0.01):9.2f} :1" for kind in ("cpu_ms", "waited_ms"))
        print(f"{name:10} {squall['queries']:8} {figures}{'' if same else '  the pages differ'}")
        squall["same_page"] = same
    if a.record:
        record("wordpress", {"posts": a.posts, "rounds": a.rounds, **found})


if __name__ == "__main__":
    main()
