/** The shapes of `POST /1.0/sql`. */

export type Value = null | boolean | number | string | { [key: string]: unknown } | unknown[];

export interface Column {
  name: string;
  type: string;
  nullable?: boolean;
  /** The type as CREATE TABLE has it: `varchar(60)`. */
  sql_type?: string;
}

export interface Warning {
  level: string;
  code: number;
  message: string;
}

/** The result of one statement. */
export interface Result {
  columns?: Column[];
  rows?: Value[][];
  affected_rows?: number;
  insert_id?: number | string;
  warnings?: Warning[];
  truncated?: boolean;
  /** The line that MySQL's clients show: `Rows matched: 1  Changed: 1  Warnings: 0`. */
  info?: string;
}

export interface Answer {
  results: Result[];
  elapsed_ms?: number;
  error?: Problem;
}

/** RFC 9457, with the server's error number and SQLSTATE. */
export interface Problem {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  error_code?: number;
  sqlstate?: string;
  /** Characters before the place of the error in `sql`, where the server knows it. */
  position?: number;
  /** The statement of a text that failed, from 1; the first one if it is not told. */
  statement?: number;
}
