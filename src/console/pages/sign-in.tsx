import { useState } from "preact/hooks";
import { invited, isWhole, offered } from "../arrival.ts";
import { goToProvider } from "../oidc.ts";
import { useAction } from "../parts/action.ts";
import { Failure } from "../parts/failure.tsx";
import { Form, TextField } from "../parts/form.tsx";
import { Name, Title } from "../parts/text.tsx";
import { claimsOf, ended, signIn } from "../session.ts";
import { settings } from "../settings.ts";
import { useStore } from "../store.ts";
import { Invitation, Unusable } from "./invitations/link.tsx";

const icon = () => document.querySelector<HTMLLinkElement>('link[rel="icon"]')!.href;

export function SignIn() {
  const why = useStore(ended);
  const token = useStore(offered);
  const found = useStore(invited);
  const invitation = found && isWhole(found) ? found : null;
  const title = found ? "There is no invitation here" : "Sign in";
  const provider = useAction();
  return (
    <main class="gate">
      <div class="brand">
        <img src={icon()} alt="" /> Tenant console
      </div>
      <div class="panel">
        <Title id="sign-in">{invitation ? "You are invited" : title}</Title>
        {invitation && (
          <>
            <Invitation of={invitation} />
            <p class="dim">Sign in here to accept. You come back to this invitation.</p>
          </>
        )}
        {found && !invitation && (
          <div class="note warn">
            <Unusable of={found} />
          </div>
        )}
        {why && (
          <p class="note warn" role="alert">
            {why}
          </p>
        )}
        {token && <Offer token={token} />}
        {settings.oidc && (
          <>
            <button
              type="button"
              class="primary"
              disabled={provider.busy}
              onClick={() => provider.run(() => goToProvider(location.hash))}
            >
              {provider.busy ? "Working…" : `Sign in at ${new URL(settings.oidc.issuer).host}`}
            </button>
            {provider.error !== undefined && <Failure error={provider.error} />}
          </>
        )}
        {settings.oidc ? (
          <details>
            <summary>Or paste a token</summary>
            <Paste />
          </details>
        ) : (
          <Paste />
        )}
      </div>
      <p class="hint">
        The token stays in this tab. Signing out, or closing the tab, forgets it. The console only does what
        the <a href="../docs/">API</a> does.
      </p>
    </main>
  );
}

/** A link brought it: only the reader can know whether they want to be this person. */
function Offer({ token }: { token: string }) {
  const { sub, email } = claimsOf(token) as { sub?: string; email?: string };
  return (
    <div class="note">
      <p>
        This link brings a token of <Name>{email ?? sub ?? "somebody"}</Name>.
      </p>
      <button
        type="button"
        onClick={() => {
          offered.set(null);
          signIn({ access: token });
        }}
      >
        Sign in with it
      </button>
    </div>
  );
}

function Paste() {
  const action = useAction();
  const [text, setText] = useState("");
  return (
    <Form
      action={action}
      submit="Sign in with this token"
      disabled={text.trim() === ""}
      onSubmit={() => {
        offered.set(null);
        signIn({ access: text.trim().replace(/^bearer\s+/i, "") });
      }}
    >
      <TextField
        label="Token"
        name="token"
        rows={4}
        value={text}
        onInput={setText}
        required
        hint={
          <>
            A JWT or an API key. <code>npm run token</code> signs one; <code>npm run demo</code> prints some.
          </>
        }
      />
    </Form>
  );
}
