import { Type } from "typebox";
import { Nullable, Text, Timestamp, Uuid } from "../http/schemas/common.ts";

export const BoardList = Type.Object(
  {
    boards: Type.Array(
      Type.Object(
        {
          board_id: Uuid,
          title: Text("Getting started"),
          description: Nullable(Text("A board with three generations")),
          owner_id: Uuid,
          created_at: Timestamp,
          updated_at: Timestamp,
        },
        { title: "Board" },
      ),
    ),
  },
  { title: "BoardList" },
);
