#!/usr/bin/env bash
# The requests of the JSON server's own test in Drizzle, by curl: documents are created, replaced, shown and deleted.
# usage: SQUALL_HTTP=http://127.0.0.1:PORT curl_documents.sh   (root without password, json_server_allow_drop_table OFF)
set -u
failed=0

# request METHOD PATH [BODY]: prints the answer's body, and its status in a line of its own.
request() {
    local body=()
    [ $# -gt 2 ] && body=(-H 'Content-Type: application/json' --data-binary "$3")
    curl -sS -u root: -X "$1" -w '\n%{http_code}' ${body[@]+"${body[@]}"} "$SQUALL_HTTP$2"
}

# expect WHAT ANSWER STATUS METHOD PATH [BODY]: the body has to be, or with a * to match, ANSWER.
expect() {
    local what=$1 answer=$2 status=$3 got
    shift 3
    got=$(request "$@")
    # shellcheck disable=SC2053
    if [[ ${got##*$'\n'} != "$status" || ${got%$'\n'*} != $answer ]]; then
        echo "  curl: $what: got ${got//$'\n'/ }, want $answer $status"
        failed=$((failed + 1))
    fi
}

place='/json?schema=json&table=people'
done='{"sqlstate":"00000"}'
name='{"query":{"name":"json"}}'
request POST /json/ddl/schema/drop "$name" >/dev/null

expect 'a schema is made' '{"sql_state":"00000"}' 200 POST /json/ddl/schema/create "$name"
expect 'it is there already' '{"error_message":"Can'\''t create schema '\''json'\''; schema exists","error_no":1007,*' 409 POST /json/ddl/schema/create "$name"

expect 'a document is stored' "$done" 200 POST "$place" '{"query":{"_id":1,"document":{"firstname":"Henrik","lastname":"Ingo","age":35}}}'
expect 'it is shown by its number' '{"result_set":\[{"_id":1,"document":{*"Henrik"*}}\],"sqlstate":"00000"}' 200 GET "$place&_id=1"
expect 'and by a query' '{"result_set":\[{"_id":1,"document":{*35*}}\],"sqlstate":"00000"}' 200 GET "$place&query=%7B%22_id%22%3A1%7D"
expect 'it is replaced' "$done" 200 POST "$place" '{"query":{"_id":1,"document":{"firstname":"Henrik","lastname":"Ingo","age":36}}}'
expect 'the new one is shown' '*36*' 200 GET "$place&_id=1"
expect 'another gets the next number' "$done" 200 POST "$place" '{"query":{"document":{"firstname":"Mark"}}}'
expect 'it has it' '{"result_set":\[{"_id":2,*"Mark"*' 200 GET "$place&_id=2"
expect 'a string is a document' "$done" 200 POST "$place" '{"query":{"_id":3,"document":"text ☃"}}'
expect 'and comes back' '*{"_id":3,"document":"text ☃"}*' 200 GET "$place&_id=3"
expect 'a number is a document' "$done" 200 POST "$place" '{"query":{"_id":4,"document":98765}}'
expect 'and comes back' '*{"_id":4,"document":98765}*' 200 GET "$place&_id=4"
for all in '' '&query=%7B%7D' '&query=%7B%22_id%22%3A%22%22%7D'; do
    expect 'all are shown' '{"result_set":\[{"_id":1,*{"_id":2,*{"_id":3,*{"_id":4,*' 200 GET "$place$all"
done
expect 'two keys are two columns' "$done" 200 POST '/json?schema=json&table=wide' '{"query":{"_id":1,"document":{"a":1},"more":[2]}}'
expect 'both are shown' '*"document":{"a": 1},"more":\[2\]*' 200 GET '/json?schema=json&table=wide&_id=1'

expect 'an empty body is no JSON' '*"error_type":"json error"*' 400 POST "$place" ''
expect 'nor is nonsense' '*Line 1, Column 1*' 400 POST "$place" 'nonsense'
expect 'nor is a half of it' '*Line 1, Column 18*' 400 POST "$place" '{"query":{"_id":1}'

expect 'a table is needed' '*table must be specified in URI query string*' 404 GET '/json?schema=json'
expect 'a document goes by its number' "$done" 200 DELETE "$place&_id=1"
expect 'and by a query' "$done" 200 DELETE "$place&query=%7B%22_id%22%3A2%7D"
expect 'it is gone' "$done" 200 GET "$place&_id=1"
for all in '' '&_id=' '&query=%7B%7D' '&query=%7B%22_id%22%3A%22%22%7D'; do
    expect 'the table is not dropped' '*"error_type":"http error"*' 404 DELETE "$place$all"
done
request POST /sql 'SET GLOBAL json_server_allow_drop_table = ON' >/dev/null
expect 'now it is' "$done" 200 DELETE "$place"
expect 'it is gone' '*"error_code":1146*' 404 GET "$place"
request POST /sql 'SET GLOBAL json_server_allow_drop_table = OFF' >/dev/null

expect 'the schema is dropped' '{"sql_state":"00000"}' 200 POST /json/ddl/schema/drop "$name"
expect 'it is gone' '*"error_no":1008*' 404 POST /json/ddl/schema/drop "$name"

echo "  curl_documents.sh: $failed failed"
[ "$failed" = 0 ]
