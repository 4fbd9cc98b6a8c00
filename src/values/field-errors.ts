/** A fault of one field of a request. */
export interface FieldError {
  field: string;
  message: string;
}

/** A body may have thousands of unknown fields; a list of them all would be ten times as long as the body. */
export const MOST_ERRORS = 100;
