/** The id in examples of requests and answers. */
export const EXAMPLE_ID = "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10";
