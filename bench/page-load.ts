/** Clients that ask for one address again and again, in a process of their own: what they read must not delay the clock of others. */
import { Agent, get } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

const [url, token, clients] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const headers = { authorization: `Bearer ${token}` };
let answered = 0;
let refused = 0;

const ask = () =>
  new Promise<number>((resolve, reject) => {
    const request = get(url!, { agent, headers }, response => {
      response.resume().once("end", () => resolve(response.statusCode!));
    });
    request.once("error", reject);
  });

async function client(): Promise<never> {
  for (;;) {
    const status = await ask();
    if (status === 200) answered++;
    else if (status === 429 || status === 503) {
      refused++;
      await sleep(200);
    } else throw new Error(`${url} answered ${status}`);
  }
}

for (let i = 0; i < Number(clients); i++) void client();
process.on("message", () => process.send!({ answered, refused }));
