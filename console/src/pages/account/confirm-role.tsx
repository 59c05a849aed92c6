/** Asks before a member gets another role: an arrow key on the list must not promote anyone. */

import type { AccountRole, Member } from "../../api/types.gen";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";

export interface RoleChange {
  row: Member;
  role: AccountRole;
}

export function ConfirmRole({
  change,
  owners,
  onClose,
}: {
  change: RoleChange | null;
  /** How many owners the account has now. */
  owners: number;
  /** With the confirmed role, or without one. */
  onClose: (role?: AccountRole) => void;
}) {
  const after = change ? owners + Number(change.role === "owner") - Number(change.row.role === "owner") : owners;
  return (
    <Confirm
      open={change !== null}
      title={t("role.title", { email: change?.row.email ?? "", role: t(`role.${change?.role ?? "member"}`) })}
      action={t("role.change")}
      onClose={() => onClose()}
      onConfirm={() => onClose(change!.role)}
    >
      {change && t(`role.effect.${change.role}`, { owners: after })}
    </Confirm>
  );
}
