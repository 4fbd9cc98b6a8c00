import { Title } from "../parts/text.tsx";

export const NotHere = () => (
  <>
    <Title id="nothing">There is no such page</Title>
    <p>
      <a href="#/">Go to the first page</a>
    </p>
  </>
);
