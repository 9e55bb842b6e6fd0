//! Results of scripts, forbidden actions, and limits that stop scripts.

use squall_javascript::engine::{Failure, Input, Limits, Output, ResultForm, Task};
use squall_javascript::pool::{Engine, LastScript};
use squall_statement_context::KillState;
use squall_types::temporal::TimeZone;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIMITS: Limits = Limits { heap: 64 << 20, stack: 1 << 20, time: Some(Duration::from_secs(20)), result: 64 << 20 };

struct Server {
    engine: Engine,
    kill: Arc<KillState>,
    zone: Arc<TimeZone>,
    limits: Limits,
}

impl Server {
    fn new() -> Server {
        Server { engine: Engine::default(), kill: Arc::default(), zone: Arc::new(TimeZone::utc()), limits: LIMITS }
    }

    fn in_zone(name: &str) -> Server {
        Server { zone: Arc::new(TimeZone::parse(name).unwrap()), ..Server::new() }
    }

    fn with_time(time: Duration) -> Server {
        Server { limits: Limits { time: Some(time), ..LIMITS }, ..Server::new() }
    }

    fn run(&self, source: &str, arguments: &[(Option<&str>, Input<'_>)], form: ResultForm) -> Result<Output, Failure> {
        let task = Task {
            arguments,
            form,
            limits: self.limits,
            kill: &self.kill,
            zone: &self.zone,
            statements: None,
            is_abandoned: None,
        };
        self.engine.call(source, &mut LastScript::default(), &task, 1024).0
    }

    fn text(&self, source: &str) -> String {
        self.text_of(source, &[])
    }

    fn text_of(&self, source: &str, arguments: &[(Option<&str>, Input<'_>)]) -> String {
        match self.run(source, arguments, ResultForm::Text) {
            Ok(Output::Text(text)) => text,
            other => panic!("{source}: {other:?}"),
        }
    }

    fn failure(&self, source: &str) -> Failure {
        match self.run(source, &[], ResultForm::Text) {
            Err(failure) => failure,
            Ok(output) => panic!("{source}: {output:?}"),
        }
    }

    fn json(&self, source: &str) -> Output {
        self.run(source, &[], ResultForm::Json).unwrap()
    }
}

#[test]
fn the_last_value_is_the_result() {
    let server = Server::new();
    assert_eq!(server.text("var foo='Hello'; foo + ', World';"), "Hello, World");
    assert_eq!(server.text("if (1) { 'yes' } else { 'no' }"), "yes");
    assert_eq!(server.text("with ({x: 7}) { x }"), "7");
    assert_eq!(
        server.text("undeclared = 5; delete undeclared; function f() { return this === globalThis } f()"),
        "true"
    );
    assert_eq!(server.text("[1,2]"), "1,2");
    assert_eq!(server.text("({})"), "[object Object]");
    assert_eq!(server.text("Promise.resolve(5).then(x => x + 1)"), "6");
    assert_eq!(server.run("undefined", &[], ResultForm::Text).unwrap(), Output::Null);
    assert_eq!(server.run("null", &[], ResultForm::Text).unwrap(), Output::Null);
    assert_eq!(server.run("", &[], ResultForm::Text).unwrap(), Output::Null);
    assert_eq!(server.json("({a:[1,null]})"), Output::Text("{\"a\":[1,null]}".into()));
    assert_eq!(server.json("(function () {})"), Output::Null);
    assert_eq!(server.json("undefined"), Output::Null);
    assert_eq!(server.json("null"), Output::Text("null".into()));
    assert_eq!(server.text("'\\ud800' + 'x'"), "\u{fffd}\u{fffd}\u{fffd}x");
    assert_eq!(server.text("db.js.engine()"), "quickjs");
}

#[test]
fn arguments_are_what_they_were() {
    let server = Server::new();
    let text = "a\0b\u{1f600}";
    let document = r#"{"a": [1, "\u0000"], "__proto__": 3}"#;
    let arguments = [
        (None, Input::Number(-5.0)),
        (Some("big"), Input::Signed(9_007_199_254_740_993)),
        (Some("unsigned"), Input::Unsigned(u64::MAX)),
        (Some("bar"), Input::Text(text)),
        (Some("bytes"), Input::Bytes(&[0, 255])),
        (Some("doc"), Input::Json(document.into())),
        (Some("nothing"), Input::Null),
        (Some("day"), Input::Moment(86_400_000.0)),
        (Some("let me"), Input::Number(1.5)),
    ];
    let of = |source: &str| server.text_of(source, &arguments);
    assert_eq!(of("arguments[0] + 1"), "-4");
    assert_eq!(of("arguments.length"), "9");
    assert_eq!(of("typeof big + big"), "bigint9007199254740993");
    assert_eq!(of("unsigned"), "18446744073709551615");
    assert_eq!(of("bar.length + ',' + (bar === 'a\\0b\\u{1f600}')"), "5,true");
    assert_eq!(of("bytes instanceof Uint8Array && bytes.join()"), "0,255");
    assert_eq!(of("doc.a[1].charCodeAt(0) + ',' + Object.keys(doc)"), "0,a,__proto__");
    assert_eq!(of("nothing === null"), "true");
    assert_eq!(of("day instanceof Date && day.toISOString()"), "1970-01-02T00:00:00.000Z");
    assert_eq!(of("globalThis['let me']"), "1.5");
    assert_eq!(of("let bar = 1; bar"), "1");
}

#[test]
fn nothing_is_left_for_the_next_call() {
    let server = Server::new();
    let vandals = [
        "x = 1",
        "var x = 1; let y = 2; const z = 3",
        "Object.prototype.x = 1; Array.prototype.map = 5; String.prototype.trim = () => 'mine'",
        "globalThis.Object = 7; delete globalThis.JSON; Math.max = null",
        "Object.freeze(globalThis); Object.preventExtensions(Object.prototype)",
        "Date.prototype.getTime = () => 7; Reflect.apply = null; Function.prototype.call = null",
        "Object.setPrototypeOf(Array.prototype, {x: 1}); Symbol.prototype.x = 2",
        "Object.defineProperty(Object.prototype, 'arguments', {set() { throw 1 }})",
        "(function f() { Error.prepareStackTrace = () => { throw 3 } })()",
        "new Proxy({}, {get() { throw 1 }}).x",
        "throw {toString() { for (;;) Object.prototype.x = 2 }}",
    ];
    let clean = "[typeof x, typeof y, typeof z, [1].map(a => a + 1), ' a '.trim(), JSON.stringify(Object.keys({})), \
                 Math.max(1, 2), ({}).x, new Date(5).getTime(), Object.isFrozen(globalThis), arguments.length, [].x].join()";
    let quick = Server { limits: Limits { time: Some(Duration::from_millis(50)), ..LIMITS }, ..Server::new() };
    for server in [&server, &quick] {
        for vandal in vandals {
            let _ = server.run(vandal, &[], ResultForm::Text);
            assert_eq!(server.text(clean), "undefined,undefined,undefined,2,a,[],2,,5,false,0,", "{vandal}");
        }
    }
}

#[test]
fn randomness_goes_on() {
    let server = Server::new();
    let numbers: std::collections::BTreeSet<String> = (0..20).map(|_| server.text("Math.random()")).collect();
    assert_eq!(numbers.len(), 20);
    assert!(numbers.iter().all(|number| (0.0..1.0).contains(&number.parse::<f64>().unwrap())));
}

#[test]
fn there_is_no_way_out() {
    let server = Server::new();
    for name in [
        "require",
        "process",
        "std",
        "os",
        "fetch",
        "setTimeout",
        "Worker",
        "print",
        "load",
        "Atomics",
        "SharedArrayBuffer",
        "WebAssembly",
        "module",
        "Deno",
        "scriptArgs",
        "gc",
        "host",
    ] {
        assert_eq!(server.text(&format!("typeof {name}")), "undefined", "{name}");
        let inside = format!("Function('return typeof {name}')() + (0, eval)('typeof {name}')");
        assert_eq!(server.text(&inside), "undefinedundefined", "{name}");
    }
    assert!(matches!(server.failure("import('fs')"), Failure::Exception { .. }));
    assert!(matches!(server.failure("import fs from 'fs'"), Failure::Exception { .. }));
    assert!(matches!(server.failure("new Promise(() => {})"), Failure::Exception { .. }));
}

#[test]
fn errors_say_where() {
    let server = Server::new();
    let Failure::Exception { line, message, .. } = server.failure("this is not javascript") else { panic!() };
    assert_eq!(line, 1);
    assert!(message.starts_with("SyntaxError"), "{message}");
    let Failure::Exception { line, message, trace } = server.failure("var a = 1;\n\nfunction f() {\n  null.x;\n}\nf()")
    else {
        panic!()
    };
    assert_eq!(line, 4, "{trace}");
    assert!(message.starts_with("TypeError"), "{message}");
    // A value that is no Error tells no place, but the engine knows it.
    for (source, expected) in [
        ("\nthrow 5", 2),
        ("function f() {\n\n throw 'a word' }\n f()", 3),
        ("try { throw 1 } catch (e) { }\n\n\nthrow {a: 1}", 4),
        ("[1].map(() => {\n throw null })", 2),
    ] {
        let Failure::Exception { line, trace, .. } = server.failure(source) else { panic!("{source}") };
        assert_eq!(line, expected, "{source}: {trace}");
    }
    for source in [
        "throw 5",
        "throw null",
        "throw {toString() { throw 1 }}",
        "throw new Proxy({}, {get() { throw 2 }})",
        "({toString() { throw new Error('mine') }})",
    ] {
        assert!(matches!(server.failure(source), Failure::Exception { .. }), "{source}");
    }
}

#[test]
fn time_is_bounded() {
    let server = Server::with_time(Duration::from_millis(100));
    let sources = [
        "for(;;);",
        "try { for(;;); } catch (e) { 'caught' } finally { for(;;); }",
        "for(;;) { try { for(;;); } catch (e) {} }",
        "/(a+)+b/.test('a'.repeat(40))",
        "new Array(4294967295).indexOf(1)",
        "Array.prototype.indexOf.call({length: 9007199254740991}, 1)",
        "var s = 'a'.repeat(2e6); for (;;) s.indexOf('a'.repeat(1e6) + 'b')",
        "('a'.repeat(2e7)).lastIndexOf('a'.repeat(1e7) + 'b' )+ ('a'.repeat(2e7)).indexOf('a'.repeat(1e7) + 'b')",
        "var a = []; for (var i = 0; i < 3e6; i++) a.push(i * 7919 % 1000003); a.sort(); for(;;) a.reverse().sort()",
        "for(;;) 'x'.repeat(1e6)",
        "({toString() { for(;;); }})",
        "throw {toString() { for(;;); }}",
        "throw {get stack() { for(;;); }}",
        // Left by a jump while the server asks what was thrown: then the server asks for nothing more.
        "var a = 'a'.repeat(2e7), b = 'a'.repeat(9e6) + 'b'; \
         throw {toString() { for (;;) a.lastIndexOf(b) }, get stack() { return [1, 2].map(x => x + new Error(x).stack).join() }}",
        "var a = 'a'.repeat(2e7), b = 'a'.repeat(9e6) + 'b'; throw {get stack() { for (;;) a.lastIndexOf(b) }}",
        "new Proxy({}, {get() { for(;;); }}) + ''",
        "async function f() { for(;;) await 1 } f()",
        "function* g() { for(;;) yield 1 } [...g()].length",
        "2n ** 500000n * 3n ** 200000n > 5n; for(;;) 3n ** 300000n",
        "new Uint8Array(3e7).sort().fill(1); for(;;) new Uint8Array(1e6).sort()",
        "JSON.parse('[' + '1,'.repeat(1e6) + '1]', function () { for(;;); })",
    ];
    for source in sources {
        let begun = Instant::now();
        let failure = server.failure(source);
        assert!(matches!(failure, Failure::Time | Failure::Heap), "{source}: {failure:?}");
        assert!(begun.elapsed() < Duration::from_millis(1500), "{source}: {:?}", begun.elapsed());
        assert_eq!(server.text("1 + 1"), "2");
    }
}

#[test]
fn killing_stops_a_script() {
    let server = Server::new();
    for source in ["for(;;);", "try { for(;;); } catch (e) { 1 }", "('a'.repeat(2e7)).indexOf('a'.repeat(1e7) + 'b')"] {
        server.kill.reset();
        let took = std::thread::scope(|scope| {
            let kill = server.kill.clone();
            let killer = scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(200));
                kill.kill_query();
                Instant::now()
            });
            assert_eq!(server.failure(source), Failure::Killed, "{source}");
            let ended = Instant::now();
            ended.saturating_duration_since(killer.join().unwrap())
        });
        assert!(took < Duration::from_millis(500), "{source}: {took:?}");
    }
    server.kill.reset();
    assert_eq!(server.text("1"), "1");
}

#[test]
fn memory_is_bounded() {
    let server = Server::new();
    let sources = [
        "var a=[]; for(;;) a.push('x'.repeat(1e6))",
        "try { var a=[]; for(;;) a.push('x'.repeat(1e6)) } catch (e) { 'caught' }",
        "for(;;) { try { var a=[]; for(;;) a.push(new Array(1e6).fill(1)) } catch (e) { } }",
        "new ArrayBuffer(1e9)",
        "new Uint8Array(2 ** 29)",
        "var s = 'xx'; for (var i = 0; i < 28; i++) s += s; s.split('').length",
        "var o = {}; for (var i = 0; ; i++) o['k' + i] = i",
        "var m = new Map(); for (var i = 0; ; i++) m.set(i, {})",
        "var f = () => {}; for (;;) { let g = f; f = () => g() }",
    ];
    for source in sources {
        assert_eq!(server.failure(source), Failure::Heap, "{source}");
        assert_eq!(server.text("1 + 1"), "2");
    }
    assert!(server.engine.memory().used() < 32 << 20, "{}", server.engine.memory().used());
    server.engine.memory().set_limit(24 << 20);
    assert_eq!(server.failure(sources[0]), Failure::Total);
    assert_eq!(server.text("1 + 1"), "2");
}

#[test]
fn the_stack_is_bounded() {
    let server = Server::new();
    let sources = [
        "function f() { return f() + 1 } f()",
        "var a = []; a.toString = function () { return [a, a].toString() }; for (;;) a = [a] + ''",
        "'('.repeat(100000)",
        "eval('('.repeat(100000))",
        "JSON.parse('['.repeat(1e6))",
        "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
        "var a = []; for (var i = 0; i < 1e6; i++) a = [a]; JSON.stringify(a)",
        "var p = {}; for (var i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x",
        "var f = () => 1; for (var i = 0; i < 1e6; i++) f = f.bind(null); f()",
        "'use strict'; new Function('['.repeat(1e6))",
        "var s = '1'; for (var i = 0; i < 1e5; i++) s = '-' + ' ' + s; eval(s)",
    ];
    let big =
        Server { limits: Limits { stack: 16 << 20, time: Some(Duration::from_secs(5)), ..LIMITS }, ..Server::new() };
    let small = Server { limits: Limits { stack: 64 << 10, ..LIMITS }, ..Server::new() };
    for server in [&server, &big, &small] {
        for source in sources {
            // Whatever it gives, the process is there to give it.
            let _ = server.run(source, &[], ResultForm::Text);
            assert_eq!(server.text("1 + 1"), "2");
        }
        assert_eq!(server.failure(sources[0]), Failure::Stack);
    }
}

#[test]
fn a_full_stack_cannot_be_caught() {
    let caught = [
        "function f() { f() } try { f() } catch (e) { 'caught' }",
        "function f() { try { f() } finally { return 1 } } f()",
        "function f() { try { return f() } catch { return 1 } } f()",
        "class A { constructor() { new A() } } try { new A() } catch { 'caught' }",
        "var o = {toString() { return '' + this }}; try { '' + o } catch { 'caught' }",
        "var p = {}; p = new Proxy(p, {get(t, k, r) { return Reflect.get(r, k, r) }}); try { p.x } catch { 'caught' }",
        "function f() { return [1].map(f) } try { f() } catch { 'caught' }",
        "function* g() { yield* g() } try { [...g()] } catch { 'caught' }",
        "try { JSON.parse('['.repeat(1e6)) } catch { 'caught' }",
        "try { eval('('.repeat(1e6)) } catch { 'caught' }",
        "try { new Function('['.repeat(1e6)) } catch { 'caught' }",
        "try { new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5)) } catch { 'caught' }",
        "try { eval('/' + '(?:'.repeat(1e5) + ')'.repeat(1e5) + '/') } catch { 'caught' }",
        "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; try { JSON.stringify(a) } catch { 'caught' }",
        "async function f() { await f() } f().catch(() => 'caught')",
        "function f() { f() } new Promise(f).catch(() => 'caught')",
        "function f() { f() } Promise.resolve().then(f).then(() => 1, () => 'caught')",
        "var t = {}; Object.defineProperty(t, 'then', {get() { return this.then }}); Promise.resolve(t).catch(() => 'caught')",
        // What a script changes in errors makes no difference.
        "Error.stackTraceLimit = 0; function f() { f() } try { f() } catch { 'caught' }",
        "Error.stackTraceLimit = {valueOf() { throw 1 }}; function f() { f() } try { f() } catch { 'caught' }",
        "Error.prepareStackTrace = () => 1; function f() { f() } try { f() } catch { 'caught' }",
        "Object.defineProperty(Error, 'stackTraceLimit', {value: 0}); function f() { f() } try { f() } catch { 'caught' }",
        "delete Error.stackTraceLimit; delete RangeError.prototype.name; function f() { f() } try { f() } catch { 'caught' }",
        "Error.isError = () => false; Object.getOwnPropertyDescriptor = Reflect.getOwnPropertyDescriptor = null; \
         function f() { f() } try { f() } catch { 'caught' }",
        "Object.defineProperty(RangeError.prototype, 'message', {get() { return '' }, set() {}}); \
         function f() { f() } try { f() } catch { 'caught' }",
        "Object.setPrototypeOf(RangeError.prototype, null); function f() { f() } try { f() } catch { 'caught' }",
        // Nothing of a script runs while the engine makes a stack trace.
        "var n = 0; function f() { f() } Object.defineProperty(Object.prototype, 'value', {get() { try { f() } catch { n++ } }}); \
         var e = new Error('x'); Object.defineProperty(e, 'message', {get() { return 1 }}); Error.captureStackTrace(e); \
         try { f() } catch { 'caught' }",
        // A frame that the stack has no place for, though it is nearly empty.
        "var v = []; for (var i = 0; i < 60000; i++) v.push('a' + i); var f = new Function('var ' + v.join() + '; return 1'); \
         function g(n) { return n ? g(n - 1) : f() } try { g(100) } catch { 'caught' }",
        "var v = []; for (var i = 0; i < 60000; i++) v.push('a' + i); var f = new Function(v.join(), 'return 1'); \
         function g(n) { return n ? g(n - 1) : f() } try { g(400) } catch { 'caught' }",
    ];
    let large = Server::new();
    let small = Server { limits: Limits { stack: 128 << 10, ..LIMITS }, ..Server::new() };
    for source in caught {
        assert_eq!(small.failure(source), Failure::Stack, "{source}");
        assert_eq!(small.text("1 + 1"), "2");
        // A larger stack may be enough for some of them. The others fail, too.
        let result = large.run(source, &[], ResultForm::Text);
        assert!(!matches!(&result, Ok(Output::Text(text)) if text == "caught"), "{source} gave {result:?}");
    }
}

/// `Date.parse` calls the C library, and no jump may leave that. A stack that is full just there must not forbid jumps for good.
#[test]
fn a_full_stack_in_the_c_library_leaves_jumps_allowed() {
    let server = Server {
        limits: Limits { stack: 128 << 10, time: Some(Duration::from_millis(200)), ..LIMITS },
        ..Server::new()
    };
    let source = "function f() { try { f() } catch { Date.parse('2020-01-01 00:00:00 x') } } f(); \
                  var a = 'a'.repeat(2e7); for (;;) a.lastIndexOf('a'.repeat(9e6) + 'b')";
    let begun = Instant::now();
    assert!(matches!(server.failure(source), Failure::Stack | Failure::Time));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn errors_within_the_stack_are_no_full_stack() {
    let server = Server { limits: Limits { stack: 128 << 10, ..LIMITS }, ..Server::new() };
    let cases = [
        ("try { null.x } catch (e) { e.message }", "cannot read property 'x' of null"),
        ("try { throw new Error('stack overflow') } catch (e) { e.message }", "stack overflow"),
        (
            "class E extends RangeError {} try { throw new E('Maximum call stack size exceeded') } catch (e) { e.name }",
            "RangeError",
        ),
        ("function f(n) { if (n === 0) throw new Error('x'); f(n - 1) } try { f(50) } catch (e) { e.message }", "x"),
        ("try { throw {message: 'Maximum call stack size exceeded'} } catch (e) { e.message.length }", "32"),
        (
            "var e = new Error('x'); Object.defineProperty(e, 'message', {get() { throw 1 }}); Error.captureStackTrace(e); 'y'",
            "y",
        ),
        (
            "var e = new Proxy(new Error('x'), {getOwnPropertyDescriptor() { throw 1 }}); Error.captureStackTrace(e); 'y'",
            "y",
        ),
        // Stack traces are those of the engine.
        ("function f() { return new Error('x').stack }\nf()", "    at f (script:1:27)\n    at <eval> (script:2:1)\n"),
        (
            "[1].map(() => new Error('x').stack)[0]",
            "    at <anonymous> (script:1:19)\n    at map (native)\n    at <eval> (script:1:4)\n",
        ),
        ("try { eval('1 +') } catch (e) { e.stack.split('\\n')[0] }", "    at <input>:1:4"),
        ("Error.stackTraceLimit = 1; (function f() { return new Error('x').stack.split('\\n').length })()", "2"),
        ("Error.stackTraceLimit = 'none'; [Error.stackTraceLimit, new Error('x').stack].join()", "0,"),
        ("typeof Error.prepareStackTrace + Object.keys(Error).length", "undefined0"),
    ];
    for (source, expected) in cases {
        assert_eq!(server.text(source), expected, "{source}");
    }
}

#[test]
fn local_time_is_the_sessions() {
    let cases = [
        ("new Date(2012, 5, 16, 9).toISOString()", "2012-06-15T23:00:00.000Z"),
        ("new Date('2012-06-16 09:00:00').toISOString()", "2012-06-15T23:00:00.000Z"),
        ("new Date('2012-06-16T09:00:00').toISOString()", "2012-06-15T23:00:00.000Z"),
        ("new Date('2012-06-16').toISOString()", "2012-06-16T00:00:00.000Z"),
        ("new Date('2012-06-16T09:00:00Z').toISOString()", "2012-06-16T09:00:00.000Z"),
        ("new Date('2012-06-16 09:00:00 GMT').toISOString()", "2012-06-16T09:00:00.000Z"),
        ("new Date('June 16, 2012 09:00').toISOString()", "2012-06-15T23:00:00.000Z"),
        ("Date.parse('2012-06-16 9:00')", "1339801200000"),
        ("var d = new Date(0); [d.getHours(), d.getTimezoneOffset(), d.getDate(), d.getDay()]", "10,-600,1,4"),
        ("var d = new Date(0); d.setHours(0, 30); d.toISOString()", "1969-12-31T14:30:00.000Z"),
        ("var d = new Date(NaN); d.setFullYear(2000); [d.getFullYear(), d.getHours()]", "2000,0"),
        ("new Date(0).toString()", "Thu Jan 01 1970 10:00:00 GMT+1000"),
        ("new Date(0) + 1", "Thu Jan 01 1970 10:00:00 GMT+10001"),
        ("new Date(0) - 1", "-1"),
        ("new Date(NaN) + ''", "Invalid Date"),
        ("typeof Date()", "string"),
        (
            "class D extends Date { x() { return this.getHours() } } var d = new D(0); [d.x(), d instanceof D, d instanceof Date]",
            "10,true,true",
        ),
        ("new Date(new Date(5)).getTime()", "5"),
        ("[Date.length, Date.name, new Date(0).constructor === Date, Object.keys(Date).length]", "7,Date,true,0"),
        ("JSON.stringify(new Date(0))", "\"1970-01-01T00:00:00.000Z\""),
    ];
    for zone in ["+10:00", "Australia/Brisbane"] {
        let server = Server::in_zone(zone);
        for (source, expected) in cases {
            assert_eq!(server.text(source), expected, "{source} in {zone}");
        }
    }
    let melbourne = Server::in_zone("Australia/Melbourne");
    // 2012-10-07: two o'clock becomes three; 2012-04-01: three o'clock becomes two.
    assert_eq!(melbourne.text("new Date(2012, 9, 7, 2, 30).toISOString()"), "2012-10-06T16:30:00.000Z");
    assert_eq!(melbourne.text("new Date(2012, 9, 7, 3, 30).toISOString()"), "2012-10-06T16:30:00.000Z");
    assert_eq!(melbourne.text("new Date(2012, 3, 1, 2, 30).toISOString()"), "2012-03-31T15:30:00.000Z");
    assert_eq!(melbourne.text("new Date(2012, 3, 1, 4).toISOString()"), "2012-03-31T18:00:00.000Z");
}

#[test]
fn what_is_said_is_kept() {
    let server = Server::new();
    let task = Task {
        arguments: &[],
        form: ResultForm::Text,
        limits: LIMITS,
        kill: &server.kill,
        zone: &server.zone,
        statements: None,
        is_abandoned: None,
    };
    let call = |source| server.engine.call(source, &mut LastScript::default(), &task, 10).1;
    assert_eq!(call("console.log('a', 1, {b: [2]}); console.error(null)"), "a 1 {\"b\":[2]}\nnull\n");
    assert!(call("for (var i = 0; i < 1e5; i++) console.log('line ' + i)").len() <= 64 << 10);
    assert_eq!(call("1"), "");
}
