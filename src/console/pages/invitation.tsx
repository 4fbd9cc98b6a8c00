import { call } from "../api.ts";
import { Form } from "../parts/form.tsx";
import { useAction } from "../parts/load.tsx";
import { say, Title } from "../parts/text.tsx";
import { go, path } from "../router.ts";
import type { Here } from "./here.ts";

export function Accept({ token, here }: { token: string; here: Here }) {
  const action = useAction();
  const accept = () =>
    action.run(async () => {
      const { body } = await call("acceptInvitation", { body: { token } });
      say(`You are ${body.membership.role} now`);
      here.reload();
      go(path(["org", body.tenant.slug]));
    });
  return (
    <>
      <Title id="invitation">You are invited</Title>
      <div class="panel">
        <Form
          action={action}
          submit="Accept the invitation"
          onSubmit={accept}
          beside={
            <a class="button" href="#/">
              Not now
            </a>
          }
        >
          <p>
            You join as <b>{here.me.name}</b>. An invitation works once. If it was for somebody else, sign out
            and give them the link.
          </p>
        </Form>
      </div>
    </>
  );
}
