//! Attempts to leave a script, or to leave data for the next one: all fail.

use squall_javascript::engine::{Failure, Input, Limits, Output, Parameter, ResultForm, Statements, Task};
use squall_javascript::pool::{Engine, LastScript};
use squall_registry::CallerError;
use squall_statement_context::{KillState, NestedResult};
use squall_types::temporal::TimeZone;
use squall_types::{ErrorCode, SqlError, SqlType, Value};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What becomes of an attempt.
enum End {
    /// It gives this text.
    Gives(&'static str),
    /// An exception whose text has this in it.
    Throws(&'static str),
    /// A limit that nothing catches.
    Limit(Failure),
    /// Whatever it is, within the time that a call has.
    Any,
}
use End::{Any, Gives, Limit, Throws};

const LIMITS: Limits =
    Limits { heap: 16 << 20, stack: 256 << 10, time: Some(Duration::from_millis(400)), result: 1 << 20 };
/// What a call sees that finds the language as it begins.
const PROBE: &str = "[typeof left, typeof x, ({}).left, [].left, 'a'.left, (() => 1).left, Object.keys(globalThis).join(), \
     [3, 1, 2].sort().join(''), JSON.stringify({a: [1, null]}), [1, 2].map(a => a + 1).join(), 'abc'.replace('b', 'x'), \
     new Date(5).getTime(), Math.max(1, 2), parseInt('7'), typeof Error.prepareStackTrace, Error.stackTraceLimit, \
     Object.isFrozen(Object.prototype), Array.isArray([]), new Error('e').message, `${Symbol('s').toString()}`, \
     Reflect.ownKeys(Object.prototype).length, Object.getOwnPropertyNames(globalThis).length].join('|')";

/// A session that gives one row, and fails where it is asked to.
#[derive(Debug, Default)]
struct Session {
    seen: RefCell<Vec<(String, Vec<Parameter>)>>,
}

impl Statements for Session {
    fn run(
        &self,
        sql: String,
        parameters: Vec<Parameter>,
        _sends: bool,
        _deadline: Option<Instant>,
    ) -> Result<Vec<NestedResult>, CallerError> {
        let fails = sql == "fails";
        self.seen.borrow_mut().push((sql, parameters));
        match fails {
            true => Err(CallerError::Failed(SqlError::new(ErrorCode::NoSuchTable, &[&"d", &"t"]))),
            false => Ok(vec![NestedResult {
                columns: vec![("a".into(), SqlType::BIGINT), ("__proto__".into(), SqlType::BIGINT)],
                rows: vec![vec![Value::Int(1), Value::Int(2)], vec![Value::Null, Value::Int(3)]],
                ..NestedResult::default()
            }]),
        }
    }

    fn input<'v>(&self, value: &'v Value, _sql_type: &SqlType) -> Input<'v> {
        match value {
            Value::Int(number) => Input::Number(*number as f64),
            Value::UInt(number) => Input::Unsigned(*number),
            _ => Input::Null,
        }
    }
}

fn call(engine: &Engine, source: &str, form: ResultForm, session: Option<&Session>) -> Result<Output, Failure> {
    let (kill, zone) = (Arc::<KillState>::default(), Arc::new(TimeZone::utc()));
    let statements = session.map(|session| session as &dyn Statements);
    let arguments = [(Some("argument"), Input::Text("given")), (None, Input::Bytes(&[1, 2, 3]))];
    let task =
        Task { arguments: &arguments, form, limits: LIMITS, kill: &kill, zone: &zone, statements, is_abandoned: None };
    engine.call(source, &mut LastScript::default(), &task, 1024).0
}

fn check(engine: &Engine, source: &str, form: ResultForm, session: Option<&Session>, expected: &End) {
    let begun = Instant::now();
    let result = call(engine, source, form, session);
    match (expected, &result) {
        (Gives(text), Ok(Output::Text(given))) => assert_eq!(given, text, "{source}"),
        (Throws(text), Err(Failure::Exception { message, .. })) => {
            assert!(message.contains(text), "{source}: {message}")
        }
        (Limit(failure), Err(given)) => assert_eq!(given, failure, "{source}"),
        (Any, _) => {}
        _ => panic!("{source}: {result:?}"),
    }
    assert!(begun.elapsed() < Duration::from_secs(10), "{source}: {:?}", begun.elapsed());
}

/// Each attempt as a text, a document and a value of SQL; and what the next call finds.
fn attempt(cases: &[(&str, End)]) {
    let engine = Engine::default();
    let clean = call(&engine, PROBE, ResultForm::Text, None);
    assert!(matches!(&clean, Ok(Output::Text(_))), "{clean:?}");
    for (source, expected) in cases {
        check(&engine, source, ResultForm::Text, None, expected);
        for form in [ResultForm::Json, ResultForm::Sql] {
            check(&engine, source, form, None, &Any);
        }
        assert_eq!(call(&engine, PROBE, ResultForm::Text, None), clean, "after {source}");
    }
}

#[test]
fn nothing_is_left_for_others() {
    attempt(&[
        (
            "left = 1; Object.prototype.left = 1; Array.prototype.left = 1; String.prototype.left = 1; 'done'",
            Gives("done"),
        ),
        ("({}).__proto__.left = 1; Object.getPrototypeOf(async function () {}).left = 1; 'done'", Gives("done")),
        ("JSON.parse('{\"__proto__\": {\"left\": 1}}').left + ''", Gives("undefined")),
        ("Object.assign({}, JSON.parse('{\"__proto__\": {\"left\": 1}}')).left", Gives("1")),
        ("Function.prototype.left = 1; (function () {}).constructor('left = 1')(); left", Gives("1")),
        (
            "for (const name of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[name] } catch (e) { } } 'done'",
            Gives("done"),
        ),
        (
            "for (const o of [Object, Array, String, Function, Error, Date, Math, JSON, Reflect, Promise, Map]) { Object.freeze(o); Object.freeze(o.prototype) } 'done'",
            Gives("done"),
        ),
        (
            "Array.prototype[Symbol.iterator] = null; Object.defineProperty(Object.prototype, 'then', {get() { throw 1 }}); 'done'",
            Gives("done"),
        ),
        ("Symbol.for('left').description; globalThis[Symbol.for('left')] = 1; 'done'", Gives("done")),
        (
            "var x = new WeakRef({}); new FinalizationRegistry(() => { left = 1 }).register({}, 1); 'done'",
            Gives("done"),
        ),
        ("queueMicrotask = 1; Promise.resolve().then(() => { left = 1 }); 'done'", Gives("done")),
        ("Error.stackTraceLimit = 0; Error.prepareStackTrace = () => { left = 1 }; 'done'", Gives("done")),
        (
            "RegExp.prototype.exec = () => { throw 1 }; Symbol.prototype.toString = null; RegExp.$1 = 'left'; 'done'",
            Gives("done"),
        ),
        (
            "Date.now = () => 5; Date.prototype.getTime = () => 7; Math.max = () => 9; parseInt = null; 'done'",
            Gives("done"),
        ),
        ("Object.setPrototypeOf(globalThis, new Proxy({}, {get() { return 'left' }})); 'done'", Any),
        ("arguments = 1; argument = 2; with (globalThis) { x = 3 } 'done'", Gives("done")),
        ("label: { let x = 1; const left = 2 } typeof left", Gives("undefined")),
    ]);
}

#[test]
fn there_is_no_other_realm_and_no_host() {
    attempt(&[
        (
            "this.constructor.constructor('return typeof process + typeof require + typeof global')()",
            Gives("undefinedundefinedundefined"),
        ),
        ("argument.constructor.constructor('return this')() === globalThis", Gives("true")),
        ("arguments[1].constructor.constructor('return this')() === globalThis", Gives("true")),
        ("console.log.constructor('return this')() === globalThis", Gives("true")),
        ("(async () => {}).constructor('return typeof host')()", Gives("undefined")),
        ("(function* () {}).constructor('yield typeof host')().next().value", Gives("undefined")),
        ("new Function('}, function () { return 1')", Any),
        ("eval('typeof host + typeof session')", Gives("undefinedundefined")),
        ("typeof session + typeof SqlError", Gives("undefinedundefined")),
        ("import('fs')", Throws("could not load module")),
        ("import.meta", Throws("SyntaxError")),
        ("require('fs')", Throws("not defined")),
        (
            "typeof WebAssembly + typeof Atomics + typeof SharedArrayBuffer + typeof Worker",
            Gives("undefinedundefinedundefinedundefined"),
        ),
        ("(function f() { return f.caller })()", Any),
        ("(function () { return arguments.callee.caller })()", Any),
        (
            "Error.prepareStackTrace = (e, frames) => frames.map(f => typeof f.getThis + typeof f.getFunction).join(); new Error().stack",
            Any,
        ),
        (
            "Error.prepareStackTrace = (e, frames) => { for (const f of frames) for (const k of Reflect.ownKeys(Object.getPrototypeOf(f))) { try { if (f[k]() === undefined) continue; if (typeof f[k]() === 'function') f[k]()() } catch (x) { } } return 'ok' }; new Error().stack + db.js.engine()",
            Any,
        ),
        ("try { null.x } catch (e) { e.constructor.constructor('return typeof host')() }", Gives("undefined")),
        (
            "Reflect.ownKeys(globalThis).filter(k => typeof k === 'string' && /host|squall|std|^os$|print|load/.test(k)).join()",
            Gives(""),
        ),
        ("new Date(0).constructor('x').constructor.constructor('return typeof host')()", Gives("undefined")),
        (
            "Object.getOwnPropertyDescriptor(Math, 'random').value.constructor('return typeof host')()",
            Gives("undefined"),
        ),
    ]);
}

#[test]
fn results_run_no_further_than_the_limits() {
    attempt(&[
        ("({get a() { throw 1 }, toString() { return 'own' }})", Gives("own")),
        ("({[Symbol.toPrimitive](hint) { return hint }})", Gives("string")),
        ("({[Symbol.toPrimitive]() { return {} }})", Throws("TypeError")),
        ("({toJSON() { for (;;); }, toString() { return 'own' }})", Gives("own")),
        ("({toString() { return this.toString() + 1 }})", Limit(Failure::Stack)),
        ("new Proxy({}, {get(t, k) { return k === Symbol.toPrimitive ? () => 'trap' : undefined }})", Gives("trap")),
        (
            "new Proxy([], {get() { throw new Error('trap') }, ownKeys() { throw 1 }, getPrototypeOf() { throw 2 }})",
            Throws("trap"),
        ),
        ("var p = new Proxy(function () {}, {apply() { for (;;); }}); ({toString: p})", Limit(Failure::Time)),
        ("var p = {}; p = new Proxy(p, {get(t, k, r) { return Reflect.get(r, k, r) }}); p.x", Limit(Failure::Stack)),
        ("({then(resolve) { resolve('thenable') }}).then(x => x)", Any),
        ("Promise.resolve({then(resolve) { resolve('thenable') }})", Gives("thenable")),
        ("Promise.resolve({then() { for (;;); }})", Limit(Failure::Time)),
        ("async function f() { for (;;) await null } f().catch(() => 1)", Limit(Failure::Time)),
        ("(async () => { try { for (;;); } catch (e) { } finally { return 'caught' } })()", Limit(Failure::Time)),
        ("Promise.race([new Promise(() => {}), (async () => { for (;;); })().catch(() => 1)])", Limit(Failure::Time)),
        ("new Promise(() => {})", Throws("never settled")),
        (
            "var g = (function* () { try { yield 1; } finally { for (;;); } })(); g.next(); 'left open'",
            Gives("left open"),
        ),
        ("for (const x of (function* () { try { yield 1 } finally { for (;;); } })()) break", Limit(Failure::Time)),
        ("var a = []; a[0] = a; a", Any),
        ("var o = {}; o.o = o; ({toString() { return JSON.stringify(o) }})", Throws("circular")),
        ("Symbol('s')", Throws("TypeError")),
        ("Object.create(null)", Throws("TypeError")),
        ("'\\ud800'", Gives("\u{fffd}\u{fffd}\u{fffd}")),
        ("throw new Proxy(new Error('x'), {get() { for (;;); }})", Limit(Failure::Time)),
        (
            "throw {get stack() { return 'script:' + '9'.repeat(1e5) }, toString() { return 'x'.repeat(1e6) }}",
            Throws("xxx"),
        ),
    ]);
}

#[test]
fn memory_stack_and_time_are_bounded() {
    attempt(&[
        ("'x'.repeat(2 ** 29)", Any),
        ("'x'.repeat(2 ** 31)", Any),
        ("'x'.padEnd(1e9)", Any),
        ("new Array(2 ** 32 - 1).fill(0)", Any),
        ("new Array(2 ** 32 - 1).join('x')", Any),
        ("var s = 'x'; for (;;) s += s", Any),
        (
            "var s = 'x'; try { for (;;) s += s.repeat(2) } catch (e) { } for (var a = []; ;) a.push(new Uint8Array(1e6))",
            Limit(Failure::Heap),
        ),
        ("new Uint8Array(1e9)", Limit(Failure::Heap)),
        ("new ArrayBuffer(8, {maxByteLength: 2 ** 40})", Any),
        (
            "var b = new ArrayBuffer(8, {maxByteLength: 1e6}); var u = new Uint8Array(b); b.resize(0); u[0] = 1; u.length",
            Gives("0"),
        ),
        (
            "var b = new ArrayBuffer(64); var u = new Uint8Array(b); b.transfer(); u.set([1]); u.fill(1); u.sort(); u.length",
            Any,
        ),
        (
            "var b = new ArrayBuffer(1e6, {maxByteLength: 1e6}); new Uint8Array(b).fill({valueOf() { b.resize(1); return 7 }}); b.byteLength",
            Gives("1"),
        ),
        ("var u = new Uint8Array(1e5); u.sort((x, y) => { u.buffer.transfer(); return x - y }); 'sorted'", Any),
        ("var a = [1, 2, 3]; a.sort(() => { a.length = 0; a.push(1); return 1 }); 'sorted'", Gives("sorted")),
        ("new DataView(new ArrayBuffer(8)).getFloat64(2 ** 53)", Throws("RangeError")),
        ("new Uint8Array(new ArrayBuffer(8), 1, 2 ** 53)", Throws("RangeError")),
        ("arguments[1].buffer.transfer(); arguments[1].length", Gives("0")),
        ("/(x+x+)+y/.test('x'.repeat(60))", Limit(Failure::Time)),
        ("/(?:a|a?)+b/u.exec('a'.repeat(60))", Limit(Failure::Time)),
        ("/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))", Limit(Failure::Time)),
        ("'a'.repeat(60).replace(/(a*)*b/g, 'x')", Limit(Failure::Time)),
        ("new RegExp('(?:a{0,1000}){0,1000}b').test('a'.repeat(3000))", Any),
        ("new RegExp('a{1000}'.repeat(1e4))", Any),
        ("(function f() { f() })()", Limit(Failure::Stack)),
        ("(function f() { try { f() } catch (e) { f() } })()", Any),
        ("class A { constructor() { new A() } } new A()", Limit(Failure::Stack)),
        ("var o = {get x() { return this.x }}; o.x", Limit(Failure::Stack)),
        ("[1].reduce.apply(null, new Array(1e7))", Any),
        ("String.fromCharCode.apply(null, new Array(1e6))", Any),
        ("10n ** 10n ** 10n", Any),
        ("(1n << 100000000n).toString().length", Any),
        ("Array.from({length: 2 ** 53 - 1})", Any),
        ("Array.prototype.concat.call(...new Array(1e5).fill([]))", Any),
        ("'x'.localeCompare('y'.repeat(1e6)); 'x'.normalize('NFKD')", Any),
        ("JSON.stringify({toJSON() { return this }}); JSON.parse('[' .repeat(1e5))", Any),
        ("structuredClone", Any),
        ("for (;;) console.log('x'.repeat(1e5))", Any),
        ("for (;;) new Date('x'.repeat(1e5))", Limit(Failure::Time)),
        ("for (;;) try { throw new Error('x') } catch (e) { }", Limit(Failure::Time)),
        ("try { for (;;); } catch (e) { 'caught' }", Limit(Failure::Time)),
        ("label: for (;;) { try { for (;;); } finally { continue label } }", Limit(Failure::Time)),
    ]);
}

#[test]
fn statements_are_given_simple_values() {
    let engine = Engine::default();
    let session = Session::default();
    let gives = |source: &str, expected: End| check(&engine, source, ResultForm::Text, Some(&session), &expected);
    let row = "session.sql('x').execute()";
    gives(&format!("{row}.fetchAll().join(';')"), Gives("1,2;,3"));
    gives(
        &format!(
            "var o = {row}.fetchOneObject(); [Object.keys(o), o.a, Object.getPrototypeOf(o) === Object.prototype]"
        ),
        Gives("a,__proto__,1,true"),
    );
    gives(
        &format!("Object.defineProperty(Object.prototype, 'a', {{set() {{ throw 1 }}}}); {row}.fetchOneObject().a"),
        Gives("1"),
    );
    gives(
        &format!(
            "Object.prototype.get = () => 7; Array.prototype.push = null; Reflect.defineProperty = null; {row}.fetchAllObjects().length"
        ),
        Gives("2"),
    );
    gives(&format!("var r = {row}; r.rows = 1; r.columns.length = 0; r.fetchAll().length"), Gives("2"));
    gives("new (session.sql('x').constructor)(1, 2)", Throws("Illegal constructor"));
    gives(&format!("new ({row}.constructor)(1, [[1]])"), Throws("Illegal constructor"));
    gives("session.sql('x').execute.call({})", Throws("TypeError"));
    gives("session.sql('x').execute.call(new Proxy(session.sql('x'), {}))", Throws("TypeError"));
    gives("session.sql({toString() { throw new Error('text') }})", Throws("text"));
    gives("session.sql(Symbol('x'))", Throws("TypeError"));
    gives("session.sql('x', [() => 1])", Throws("no value of SQL"));
    gives("session.sql('x', [Symbol('x')])", Throws("no value of SQL"));
    gives("session.sql('x', [{toJSON() { throw new Error('json') }}])", Throws("json"));
    gives("session.sql('x', [new Proxy({}, {ownKeys() { throw new Error('keys') }})])", Throws("keys"));
    gives("var s = 'x'.repeat(1e6); session.sql('x', new Array(5000).fill(s)).execute()", Limit(Failure::Heap));
    gives("session.sql('x', new Array(2 ** 32 - 1)).execute()", Any);
    gives("for (var all = []; ;) all.push(session.sql('x').execute())", Any);
    gives("for (;;) session.sql('x').execute()", Limit(Failure::Time));
    gives(
        "try { session.sql('fails').execute() } catch (e) { [e.code, e.sqlstate, e.name, e instanceof Error] }",
        Gives("1146,42S02,SqlError,true"),
    );
    gives(
        "globalThis.Error = null; Error = 1; try { session.sql('fails').execute() } catch (e) { e.code }",
        Gives("1146"),
    );
    gives("session = null; typeof session", Gives("object"));
    assert_eq!(call(&engine, "typeof session", ResultForm::Text, None), Ok(Output::Text("undefined".into())));
    let failed = call(&engine, "session.sql('fails').execute()", ResultForm::Text, Some(&session));
    assert!(matches!(&failed, Err(Failure::Statement(error)) if error.code == 1146), "{failed:?}");
    // What looks like one is the script's own exception.
    let forged = "try { session.sql('fails').execute() } catch (e) { throw Object.setPrototypeOf({code: 1, sqlstate: '00000'}, e) }";
    assert!(matches!(call(&engine, forged, ResultForm::Text, Some(&session)), Err(Failure::Exception { .. })));
    session.seen.borrow_mut().clear();
    let values = "session.sql('v', [null, undefined, 1.5, -7, NaN, 'a\\0b', true, 2n ** 70n, new Uint8Array([1]), new Uint16Array([256]), \
                  new Date(0), {a: 1}, [2]].flatMap(v => Array.isArray(v) ? [v] : v)).execute()";
    let _ = call(&engine, values, ResultForm::Text, Some(&session));
    let text = |text: &str| Parameter::Text(text.into());
    let expected = vec![
        Parameter::Null,
        Parameter::Null,
        Parameter::Number(1.5),
        Parameter::Number(-7.0),
        Parameter::Null,
        text("a\0b"),
        Parameter::Number(1.0),
        Parameter::Whole("1180591620717411303424".into()),
        Parameter::Bytes(vec![1]),
        Parameter::Bytes(vec![0, 1]),
        text("1970-01-01 00:00:00"),
        text("{\"a\":1}"),
        text("[2]"),
    ];
    assert_eq!(session.seen.borrow().as_slice(), [("v".to_string(), expected)]);
}
