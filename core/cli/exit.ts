/** Ends the program, with a message for who started it: 1 config, 2 usage, 3 port in use, 4 store. */
export class Exit extends Error {
  readonly code: number;

  constructor(code: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
