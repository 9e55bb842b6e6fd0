// What a realm has beside the language itself. It runs once, before the realm is kept; `host` is the server.
(function (host) {
  'use strict';
  const { ArrayBuffer, Uint8Array } = globalThis;
  const define = (object, members) => {
    for (const name of Reflect.ownKeys(members)) {
      const member = Object.getOwnPropertyDescriptor(members, name);
      member.enumerable = false;
      Object.defineProperty(object, name, member);
    }
  };
  const { apply, construct, getOwnPropertyDescriptor: describe } = Reflect;
  const { offset, log, random, hold } = host;

  // A full stack is an exception that a script may catch, but the script fails all the same. The engine asks for the limit of a
  // stack trace, and calls `prepare`, before the script has the exception. The gauge sees a stack that is full, whatever
  // was thrown; a frame that is too large for a stack that is not full is known by its exception. Scripts have no
  // `prepareStackTrace`: within theirs the engine makes no stack traces.
  const { isError } = Error;
  const traceLimit = describe(Error, 'stackTraceLimit'), tracePrepare = describe(Error, 'prepareStackTrace');
  const OVERFLOWS = { __proto__: null, 'Maximum call stack size exceeded': RangeError.prototype, 'stack overflow': SyntaxError.prototype };
  const { gauge, overflow } = host;
  const { getPrototypeOf, hasOwn, setPrototypeOf } = Object;
  let sites = 10;
  setPrototypeOf(gauge, { __proto__: null, valueOf() { return sites; } });
  const prepare = (error, frames) => {
    if (isError(error)) {
      // An accessor is a script's, and so may be what is found beyond a descriptor's own members.
      const message = describe(error, 'message');
      const text = message !== undefined && hasOwn(message, 'value') ? message.value : undefined;
      if (typeof text === 'string' && OVERFLOWS[text] === getPrototypeOf(error)) overflow();
    }
    let text = '';
    for (let at = 0; at < frames.length; at++) text += '    at ' + placeOf(frames[at]) + '\n';
    return text;
  };
  let site;
  apply(tracePrepare.set, Error, [(error, frames) => { site = getPrototypeOf(frames[0]); }]);
  new Error();
  const { isNative, getFileName, getFunction, getFunctionName, getLineNumber, getColumnNumber } = site;
  const placeOf = (frame) => {
    const file = apply(getFileName, frame, []), line = apply(getLineNumber, frame, []);
    const place = line === null ? file : file + ':' + line + ':' + apply(getColumnNumber, frame, []);
    // The place of a syntax error.
    if (apply(getFunction, frame, []) === null) return place;
    return (apply(getFunctionName, frame, []) ?? '<anonymous>') + ' (' + (apply(isNative, frame, []) ? 'native' : place) + ')';
  };
  apply(tracePrepare.set, Error, [prepare]);
  apply(traceLimit.set, Error, [gauge]);
  delete Error.prepareStackTrace;
  define(Error, {
    get stackTraceLimit() { return sites; },
    set stackTraceLimit(value) { sites = typeof value === 'number' ? value : 0; },
  });

  // Nothing is shared with another thread, and nothing waits for one.
  delete globalThis.Atomics;
  delete globalThis.SharedArrayBuffer;

  // The engine's own state would be the same in every call.
  define(Math, { random() { return random(); } });

  // Local time is that of the session's time zone. The engine's own is that of the process.
  const Engine = Date;
  const proto = Engine.prototype;
  const { UTC, now, parse: parseHere } = Engine;
  // The engine may ask the C library for the process's time zone.
  const parse = (value) => {
    hold(1);
    // The stack may be too small for the call. It is not too small for the last one, as it was not for the first.
    try { return parseHere(value); } finally { hold(-1); }
  };
  const getTime = proto.getTime, setTime = proto.setTime;
  const moment = (date) => apply(getTime, date, []);
  const local = (date) => { const at = moment(date); return new Engine(at + offset(at)); };
  const DAY = 86400000;
  // The moment of a local time. A time the clock shows twice is the first of the two; one that it leaves out is as late
  // as it would have been by the old time.
  const toUtc = (at) => {
    if (!(Math.abs(at) <= 8.64e15 + DAY)) return NaN;
    const before = offset(at - DAY), after = offset(at + DAY);
    if (before === after || offset(at - before) === before || offset(at - after) !== after) return at - before;
    return at - after;
  };
  for (const part of ['FullYear', 'Month', 'Date', 'Day', 'Hours', 'Minutes', 'Seconds', 'Milliseconds']) {
    const get = proto['getUTC' + part];
    define(proto, { ['get' + part]() { return apply(get, local(this), []); } });
    const set = proto['setUTC' + part];
    if (set === undefined) continue;
    define(proto, {
      ['set' + part](...values) {
        const at = moment(this);
        // A year makes a date of one that is none.
        const shifted = new Engine(at !== at && part === 'FullYear' ? 0 : at + offset(at));
        return apply(setTime, this, [toUtc(apply(set, shifted, values))]);
      },
    });
    Object.defineProperty(proto['set' + part], 'length', { value: set.length });
  }
  const getUTCFullYear = proto.getUTCFullYear, toISOString = proto.toISOString;
  const two = (number) => (number < 10 ? '0' : '') + number;
  const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
  const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
  const { getUTCDay, getUTCMonth, getUTCDate, getUTCHours, getUTCMinutes, getUTCSeconds, getUTCMilliseconds } = proto;
  const of = (get, date) => apply(get, date, []);
  const yearText = (year) => (year < 0 ? '-' : '') + (Math.abs(year) + '').padStart(year < 0 ? 6 : 4, '0');
  const dateText = (date) => DAYS[of(getUTCDay, date)] + ' ' + MONTHS[of(getUTCMonth, date)] + ' ' +
    two(of(getUTCDate, date)) + ' ' + yearText(of(getUTCFullYear, date));
  const clockText = (date) =>
    two(of(getUTCHours, date)) + ':' + two(of(getUTCMinutes, date)) + ':' + two(of(getUTCSeconds, date));
  const zoneText = (at) => {
    const minutes = Math.trunc(offset(at) / 60000), size = Math.abs(minutes);
    return ' GMT' + (minutes < 0 ? '-' : '+') + two(Math.trunc(size / 60)) + two(size % 60);
  };
  const text = (date, form) => moment(date) !== moment(date) ? 'Invalid Date' : form(local(date), moment(date));
  define(proto, {
    getTimezoneOffset() { const at = moment(this); return at !== at ? NaN : -offset(at) / 60000; },
    getYear() { return apply(getUTCFullYear, local(this), []) - 1900; },
    setYear(year) {
      year = +year;
      if (year !== year) return apply(setTime, this, [NaN]);
      year = Math.trunc(year);
      return this.setFullYear(year >= 0 && year <= 99 ? 1900 + year : year);
    },
    toString() { return text(this, (date, at) => dateText(date) + ' ' + clockText(date) + zoneText(at)); },
    toDateString() { return text(this, dateText); },
    toTimeString() { return text(this, (date, at) => clockText(date) + zoneText(at)); },
    toLocaleString() {
      return text(this, (date) => of(getUTCMonth, date) + 1 + '/' + of(getUTCDate, date) + '/' +
        of(getUTCFullYear, date) + ', ' + clockText(date));
    },
    toLocaleDateString() {
      return text(this, (date) => of(getUTCMonth, date) + 1 + '/' + of(getUTCDate, date) + '/' + of(getUTCFullYear, date));
    },
    toLocaleTimeString() { return text(this, clockText); },
  });

  // A text that says no zone is local time, except a date alone in ISO's form.
  const test = RegExp.prototype.test, exec = RegExp.prototype.exec;
  const DATE_ALONE = /^\s*[+-]?\d{4,6}(-\d\d(-\d\d)?)?\s*$/;
  const SPACED = /^\s*([+-]?\d{4,6}-\d\d?-\d\d?)[ T]+(\d\d?:\d\d(:\d\d(\.\d+)?)?)\s*$/;
  const SHORT = /^(\d{4,6})-(\d\d?)-(\d\d?)$/;
  const ZONED = /(\d|\s|^)(Z|GMT|UTC?|[ECMP][SD]T)\b|(\d\s*|GMT|UTC?)[+-]\d\d?:?(\d\d)?\s*(\([^)]*\))?\s*$/i;
  const HAS_CLOCK = /\d\s*:\s*\d/;
  const parseText = (value) => {
    value = `${value}`;
    const spaced = apply(exec, SPACED, [value]);
    if (spaced !== null) {
      const short = apply(exec, SHORT, [spaced[1]]);
      const day = short === null ? spaced[1] : short[1] + '-' + two(+short[2]) + '-' + two(+short[3]);
      const clock = spaced[2][1] === ':' ? '0' + spaced[2] : spaced[2];
      const at = parse(day + 'T' + clock + 'Z');
      if (at === at) return toUtc(at);
    }
    if (apply(test, DATE_ALONE, [value]) || apply(test, ZONED, [value])) return parse(value);
    return toUtc(parse(value + (apply(test, HAS_CLOCK, [value]) ? ' GMT' : ' 00:00 GMT')));
  };
  const toPrimitive = (value) => {
    if (typeof value !== 'object' && typeof value !== 'function' || value === null) return value;
    const convert = value[Symbol.toPrimitive];
    if (convert !== undefined && convert !== null) return apply(convert, value, ['default']);
    const plain = value.valueOf();
    return typeof plain === 'object' && plain !== null || typeof plain === 'function' ? value.toString() : plain;
  };
  const isDate = (value) => {
    try { moment(value); return true; } catch { return false; }
  };
  const LocalDate = function Date(year, month) {
    if (new.target === undefined) return new LocalDate() + '';
    const count = arguments.length;
    let at;
    if (count === 0) at = now();
    else if (count > 1) at = toUtc(apply(UTC, Engine, arguments));
    else if (typeof year === 'object' && year !== null && isDate(year)) at = moment(year);
    else {
      const value = toPrimitive(year);
      at = typeof value === 'string' ? parseText(value) : +value;
    }
    return construct(Engine, [at], new.target);
  };
  Object.defineProperty(LocalDate, 'prototype', { value: proto, writable: false, enumerable: false });
  Object.defineProperty(LocalDate, 'length', { value: 7, configurable: true });
  define(LocalDate, { now, UTC, parse(value) { return parseText(value); } });
  define(proto, { constructor: LocalDate });
  define(globalThis, { Date: LocalDate });

  // What a script says beside its result.
  const stringify = JSON.stringify;
  const shown = (value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'symbol') return apply(Symbol.prototype.toString, value, []);
    if (typeof value !== 'object' || value === null || value instanceof Error) return `${value}`;
    try { return stringify(value) ?? `${value}`; } catch { return Object.prototype.toString.call(value); }
  };
  const say = (...values) => { log(values.map(shown).join(' ')); };
  define(globalThis, {
    console: { log: say, info: say, warn: say, error: say, debug: say },
    db: { js: { version() { return host.version; }, engine() { return 'quickjs'; } } },
  });

  // What a type of SQL is made of.
  const { isView } = ArrayBuffer;
  const Bytes = Uint8Array;
  const clock = (at) => {
    const date = new Engine(at + offset(at)), rest = of(getUTCMilliseconds, date);
    return yearText(of(getUTCFullYear, date)) + '-' + two(of(getUTCMonth, date) + 1) + '-' + two(of(getUTCDate, date)) +
      ' ' + clockText(date) + (rest === 0 ? '' : '.' + (rest < 100 ? '0' : '') + two(rest));
  };
  const toSql = (value) => {
    if (value === undefined || value === null || typeof value === 'function' || typeof value === 'symbol') return null;
    if (typeof value === 'boolean') return value ? '1' : '0';
    if (typeof value === 'number') return value - value === 0 ? `${value}` : null;
    if (typeof value !== 'object') return `${value}`;
    if (isDate(value)) return moment(value) !== moment(value) ? null : clock(moment(value));
    if (value instanceof ArrayBuffer) return new Bytes(value);
    if (isView(value)) return new Bytes(value.buffer, value.byteOffset, value.byteLength);
    return stringify(value);
  };

  // Statements of procedures. Only what is made here has their private parts, so that nothing else is taken for one.
  const { sql } = host;
  const { defineProperty } = Reflect;
  const own = Symbol('own');
  const illegal = (key) => { if (key !== own) throw new TypeError('Illegal constructor'); };
  const put = (object, name, value) =>
    defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const parameter = (value) => {
    if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'string') {
      return typeof value === 'number' && value - value !== 0 ? null : value;
    }
    if (typeof value === 'boolean') return value ? 1 : 0;
    if (typeof value === 'function' || typeof value === 'symbol') throw new TypeError('a parameter that is no value of SQL');
    return toSql(value);
  };
  class SqlError extends Error {
    #parts;
    constructor(key, parts) {
      illegal(key);
      super(parts[3]);
      this.#parts = parts;
      put(this, 'code', parts[1]);
      put(this, 'sqlstate', parts[2]);
    }
    static parts(thrown) {
      return typeof thrown === 'object' && thrown !== null && #parts in thrown ? thrown.#parts : undefined;
    }
  }
  const partsOf = SqlError.parts;
  delete SqlError.parts;
  define(SqlError.prototype, { name: 'SqlError' });
  class Result {
    #sets; #at = 0; #next = 0;
    constructor(key, sets) { illegal(key); this.#sets = sets; }
    #set() { return this.#sets[this.#at] ?? [[], [], 0, 0]; }
    get columns() { return this.#set()[0]; }
    get affectedRows() { return this.#set()[2]; }
    get lastInsertId() { return this.#set()[3]; }
    hasData() { return this.#set()[0].length > 0; }
    nextResult() {
      if (this.#at + 1 >= this.#sets.length) return false;
      this.#at += 1;
      this.#next = 0;
      return true;
    }
    fetchOne() {
      const rows = this.#set()[1];
      return this.#next < rows.length ? rows[this.#next++] : null;
    }
    fetchOneObject() {
      const row = this.fetchOne(), names = this.#set()[0];
      if (row === null) return null;
      const object = {};
      for (let at = 0; at < names.length; at++) put(object, names[at], row[at]);
      return object;
    }
    fetchAll() {
      const rows = [];
      for (let row = this.fetchOne(); row !== null; row = this.fetchOne()) put(rows, rows.length, row);
      return rows;
    }
    fetchAllObjects() {
      const rows = [];
      for (let row = this.fetchOneObject(); row !== null; row = this.fetchOneObject()) put(rows, rows.length, row);
      return rows;
    }
    *[Symbol.iterator]() {
      for (let row = this.fetchOneObject(); row !== null; row = this.fetchOneObject()) yield row;
    }
  }
  class Statement {
    #text; #values = []; #count = 0;
    constructor(key, text) { illegal(key); this.#text = `${text}`; }
    bind(...values) {
      for (let at = 0; at < values.length; at++) {
        if (Array.isArray(values[at])) for (let place = 0; place < values[at].length; place++) this.#add(values[at][place]);
        else this.#add(values[at]);
      }
      return this;
    }
    #add(value) { put(this.#values, this.#count++, parameter(value)); }
    #run(sends) {
      const told = sql(this.#text, this.#values, this.#count, sends);
      if (told[0] === null) throw new SqlError(own, told);
      return new Result(own, told[0]);
    }
    execute() { return this.#run(false); }
    send() { return this.#run(true); }
  }
  const bindTo = Statement.prototype.bind;
  class PreparedStatement {
    #text; #statement;
    constructor(key, text) { illegal(key); this.#text = `${text}`; this.#statement = new Statement(own, text); }
    #live() {
      if (this.#statement === null) throw new TypeError('the statement is deallocated');
      return this.#statement;
    }
    bind(...values) {
      this.#live();
      this.#statement = apply(bindTo, new Statement(own, this.#text), values);
      return this;
    }
    execute() { return this.#live().execute(); }
    send() { return this.#live().send(); }
    getSql() { return this.#text; }
    deallocate() { this.#statement = null; }
  }
  const session = {};
  define(session, {
    prepare(text) { return new PreparedStatement(own, text); },
    sql(text, values) {
      const statement = new Statement(own, text);
      return values === undefined ? statement : statement.bind(values);
    },
  });
  return [toSql, partsOf, session];
})
