// go-sql-driver: text (interpolated) and prepared statements, transactions, errors, contexts that cancel, LOCAL INFILE.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func dsn(options string) string {
	port := os.Getenv("SQUALL_PORT")
	if port == "" {
		port = "3306"
	}
	return "root@tcp(127.0.0.1:" + port + ")/?charset=utf8mb4&multiStatements=true" + options
}

func open(options string) (*sql.DB, error) {
	db, err := sql.Open("mysql", dsn(options))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func fresh(db *sql.DB) error {
	_, err := db.Exec("DROP DATABASE IF EXISTS client_go; CREATE DATABASE client_go; USE client_go")
	return err
}

func same(got, want any, what string) error {
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("%s: got %#v, want %#v", what, got, want)
	}
	return nil
}

func everyType() error {
	for _, options := range []string{"", "&interpolateParams=true"} {
		db, err := open(options)
		if err != nil {
			return err
		}
		defer db.Close()
		if err := fresh(db); err != nil {
			return err
		}
		if _, err := db.Exec("CREATE TABLE t (id INT PRIMARY KEY, i BIGINT, u BIGINT UNSIGNED, d DOUBLE, n DECIMAL(20,5), s VARCHAR(50), b BLOB, dt DATETIME(6), t TIME, x DATE)"); err != nil {
			return err
		}
		if _, err := db.Exec("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", 1, int64(-1<<63), uint64(1<<63-1)*2+1, 0.1, "-1.50000", "☃ '\\", []byte{0, 255}, "2024-01-02 03:04:05.000006", "-10:00:00", "2024-02-29"); err != nil {
			return err
		}
		var i int64
		var u uint64
		var d float64
		var n, s, dt, t, x string
		var b []byte
		if err := db.QueryRow("SELECT i, u, d, n, s, b, dt, t, x FROM t WHERE id = ?", 1).Scan(&i, &u, &d, &n, &s, &b, &dt, &t, &x); err != nil {
			return err
		}
		got := []any{i, u, d, n, s, b, dt, t, x}
		want := []any{int64(-1 << 63), uint64(18446744073709551615), 0.1, "-1.50000", "☃ '\\", []byte{0, 255}, "2024-01-02 03:04:05.000006", "-10:00:00", "2024-02-29"}
		if err := same(got, want, "row"+options); err != nil {
			return err
		}
	}
	return nil
}

func tls() error {
	db, err := open("&tls=skip-verify")
	if err != nil {
		return err
	}
	defer db.Close()
	var name, value string
	if err := db.QueryRow("SHOW STATUS LIKE 'Ssl_version'").Scan(&name, &value); err != nil {
		return err
	}
	if !strings.HasPrefix(value, "TLSv1") {
		return fmt.Errorf("TLS version %q", value)
	}
	return nil
}

func transactions() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fresh(db); err != nil {
		return err
	}
	if _, err := db.Exec("CREATE TABLE t (id INT PRIMARY KEY)"); err != nil {
		return err
	}
	for _, commit := range []bool{false, true} {
		tx, err := db.BeginTx(context.Background(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO t VALUES (1)"); err != nil {
			return err
		}
		if commit {
			err = tx.Commit()
		} else {
			err = tx.Rollback()
		}
		if err != nil {
			return err
		}
	}
	var count int
	if err := db.QueryRow("SELECT COUNT(*) FROM t").Scan(&count); err != nil {
		return err
	}
	return same(count, 1, "rows")
}

func errorCodes() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec("SELECT * FROM nowhere.t")
	var failure *mysql.MySQLError
	if !errors.As(err, &failure) || (failure.Number != 1146 && failure.Number != 1049) {
		return fmt.Errorf("unexpected %v", err)
	}
	return nil
}

func cancel() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, stop := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer stop()
	started := time.Now()
	_, err = db.ExecContext(ctx, "DO SLEEP(10)")
	if err == nil || time.Since(started) > 5*time.Second {
		return fmt.Errorf("not cancelled: %v after %v", err, time.Since(started))
	}
	return db.Ping()
}

func localInfile() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fresh(db); err != nil {
		return err
	}
	mysql.RegisterReaderHandler("rows", func() io.Reader { return strings.NewReader("1,one\n2,two\n") })
	if _, err := db.Exec("SET GLOBAL local_infile = 1; CREATE TABLE t (id INT, s TEXT)"); err != nil {
		return err
	}
	result, err := db.Exec("LOAD DATA LOCAL INFILE 'Reader::rows' INTO TABLE t FIELDS TERMINATED BY ','")
	if err != nil {
		return err
	}
	rows, _ := result.RowsAffected()
	return same(rows, int64(2), "rows")
}

func compressed() error {
	db, err := open("&compress=true")
	if err != nil {
		return err
	}
	defer db.Close()
	if err := fresh(db); err != nil {
		return err
	}
	var name, on string
	if err := db.QueryRow("SHOW STATUS LIKE 'Compression'").Scan(&name, &on); err != nil {
		return err
	}
	if err := same(on, "ON", "compression"); err != nil {
		return err
	}
	var file strings.Builder
	for n := range 20000 {
		fmt.Fprintf(&file, "%d,%s\n", n, strings.Repeat("x", n%100))
	}
	mysql.RegisterReaderHandler("many", func() io.Reader { return strings.NewReader(file.String()) })
	if _, err := db.Exec("SET GLOBAL local_infile = 1; CREATE TABLE t (id INT PRIMARY KEY, s TEXT)"); err != nil {
		return err
	}
	if _, err := db.Exec("LOAD DATA LOCAL INFILE 'Reader::many' INTO TABLE t FIELDS TERMINATED BY ','"); err != nil {
		return err
	}
	rows, err := db.Query("SELECT s FROM t ORDER BY id")
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		var s string
		if err := rows.Scan(&s); err != nil {
			return err
		}
		if err := same(len(s), n%100, "length"); err != nil {
			return err
		}
	}
	return rows.Err()
}

func queriesInTheBackground() error {
	db, err := open("")
	if err != nil {
		return err
	}
	defer db.Close()
	var one, two int64
	if err := db.QueryRow("CALL async.queue(?)", "SELECT 'ü' AS s UNION ALL SELECT NULL").Scan(&one); err != nil {
		return err
	}
	if err := db.QueryRow("CALL async.queue('SELECT 2.50')").Scan(&two); err != nil {
		return err
	}
	rows, err := db.Query("CALL async.wait_list(?)", fmt.Sprintf("%d,%d", one, two))
	if err != nil {
		return err
	}
	defer rows.Close()
	var found []string
	for {
		for rows.Next() {
			var text sql.NullString
			if err := rows.Scan(&text); err != nil {
				return err
			}
			found = append(found, text.String)
		}
		if !rows.NextResultSet() {
			break
		}
	}
	// The last is the INOUT argument.
	return same(fmt.Sprint(found), "[ü  2.50 ]", "results")
}

func main() {
	cases := []struct {
		name string
		run  func() error
	}{{"everyType", everyType}, {"tls", tls}, {"transactions", transactions}, {"errorCodes", errorCodes}, {"cancel", cancel}, {"localInfile", localInfile}, {"compressed", compressed}, {"queriesInTheBackground", queriesInTheBackground}}
	failed := 0
	for _, c := range cases {
		if err := c.run(); err != nil {
			failed++
			fmt.Printf("  go-sql-driver: %s failed: %v\n", c.name, err)
		}
	}
	fmt.Printf("  go-sql-driver: %d passed, %d failed\n", len(cases)-failed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
