/** The server's live catalog: schemas, tables, columns, functions and keywords, read when they are needed. */

import * as api from "./api";

export interface TableInfo {
  schema: string;
  name: string;
  /** `BASE TABLE`, `VIEW`, `SYSTEM VIEW`. */
  type: string;
  engine: string;
  rows: number | null;
  dataBytes: number;
  indexBytes: number;
  comment: string;
}

export interface ColumnInfo {
  name: string;
  type: string;
  nullable: boolean;
  key: string;
  fallback: string | null;
  extra: string;
  comment: string;
}

export interface IndexInfo {
  name: string;
  unique: boolean;
  type: string;
  columns: string;
}

/** Schemas of the server itself: shown last. */
export const SYSTEM = new Set(["information_schema", "mysql", "performance_schema", "sys", "ps_history", "sys_history", "data_dictionary", "ndbinfo", "async", "fastbit", "rapidjson"]);

const text = (value: unknown): string => (value === null || value === undefined ? "" : String(value));
const numeric = (value: unknown): number => (value === null ? 0 : Number(value));

class Catalog {
  schemas: string[] = [];
  functions: string[] = [];
  keywords: string[] = [];
  private tablesOf = new Map<string, Promise<TableInfo[]>>();
  private columnsOf = new Map<string, Promise<ColumnInfo[]>>();
  /** What has come already, for completion, which does not wait. */
  readonly known = new Map<string, TableInfo[]>();
  readonly knownColumns = new Map<string, ColumnInfo[]>();
  readonly changed = new Set<() => void>();

  /** Forgets what an account has seen, and who listens. */
  forget(): void {
    this.changed.clear();
    this.schemas = [];
    this.functions = [];
    this.keywords = [];
    this.clear();
  }

  private clear(): void {
    this.tablesOf.clear();
    this.columnsOf.clear();
    this.known.clear();
    this.knownColumns.clear();
  }

  /** Forgets all and reads the schemas again. */
  async refresh(): Promise<void> {
    this.clear();
    const found = await api.table("SELECT SCHEMA_NAME FROM information_schema.SCHEMATA ORDER BY SCHEMA_NAME");
    const names = [...new Set(found.map((row) => text(row[0])))];
    this.schemas = [...names.filter((name) => !SYSTEM.has(name)), ...names.filter((name) => SYSTEM.has(name))];
    for (const listener of this.changed) listener();
  }

  /** Functions and keywords. An account that may not read a list does without it. */
  async words(): Promise<void> {
    const list = async (sql: string): Promise<string[]> => (await api.table(sql).catch(() => [])).map((row) => text(row[0]));
    const [keywords, builtIn, routines] = await Promise.all([
      list("SELECT WORD FROM information_schema.KEYWORDS"),
      list("SELECT t.name FROM mysql.help_topic t JOIN mysql.help_category c ON c.help_category_id = t.help_category_id WHERE t.name REGEXP '^[A-Za-z_0-9]+$' AND c.name LIKE '%Function%'"),
      list("SELECT CONCAT(ROUTINE_SCHEMA, '.', ROUTINE_NAME) FROM information_schema.ROUTINES ORDER BY 1"),
    ]);
    this.keywords = keywords;
    this.functions = [...new Set([...builtIn, ...routines])];
  }

  tables(schema: string): Promise<TableInfo[]> {
    let found = this.tablesOf.get(schema);
    if (!found) {
      found = this.readTables(schema);
      found.catch(() => this.tablesOf.delete(schema));
      this.tablesOf.set(schema, found);
    }
    return found;
  }

  private async readTables(schema: string): Promise<TableInfo[]> {
    const rows = await api.table(
      "SELECT TABLE_NAME, TABLE_TYPE, ENGINE, TABLE_ROWS, DATA_LENGTH, INDEX_LENGTH, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? ORDER BY TABLE_NAME",
      { params: [schema] },
    );
    const tables = rows.map((row) => ({
      schema,
      name: text(row[0]),
      type: text(row[1]),
      engine: text(row[2]),
      rows: row[3] === null ? null : Number(row[3]),
      dataBytes: numeric(row[4]),
      indexBytes: numeric(row[5]),
      comment: text(row[6]),
    }));
    this.known.set(schema, tables);
    return tables;
  }

  columns(schema: string, name: string): Promise<ColumnInfo[]> {
    const key = `${schema}\u0000${name}`;
    let found = this.columnsOf.get(key);
    if (!found) {
      found = this.readColumns(schema, name, key);
      found.catch(() => this.columnsOf.delete(key));
      this.columnsOf.set(key, found);
    }
    return found;
  }

  private async readColumns(schema: string, name: string, key: string): Promise<ColumnInfo[]> {
    const rows = await api.table(
      "SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_KEY, COLUMN_DEFAULT, EXTRA, COLUMN_COMMENT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION",
      { params: [schema, name] },
    );
    const columns = rows.map((row) => ({
      name: text(row[0]),
      type: text(row[1]),
      nullable: row[2] === "YES",
      key: text(row[3]),
      fallback: row[4] === null ? null : text(row[4]),
      extra: text(row[5]),
      comment: text(row[6]),
    }));
    this.knownColumns.set(key, columns);
    return columns;
  }

  async indexes(schema: string, name: string): Promise<IndexInfo[]> {
    const rows = await api.table(
      "SELECT INDEX_NAME, NON_UNIQUE, INDEX_TYPE, COLUMN_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX",
      { params: [schema, name] },
    );
    const found = new Map<string, IndexInfo>();
    for (const row of rows) {
      const key = text(row[0]);
      const one = found.get(key);
      if (one) one.columns += ", " + text(row[3]);
      else found.set(key, { name: key, unique: Number(row[1]) === 0, type: text(row[2]), columns: text(row[3]) });
    }
    return [...found.values()];
  }
}

export const catalog = new Catalog();
