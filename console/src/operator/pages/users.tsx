/** People, whichever customers they belong to: suspend, let in again, new password, lost second factor. */

import { useState } from "preact/hooks";
import { api, HOME } from "../../api/client";
import type { Account, AccountList, ResetLink } from "../../api/types.gen";
import { useParams } from "../../lib/params";
import { useQuery } from "../../lib/query";
import { t } from "../../lib/words";
import { Confirm } from "../../ui/dialogs";
import { FormDialog, Secret, useAction } from "../../ui/forms";
import { factorColumn, whenColumn } from "../../ui/columns";
import { Icon } from "../../ui/icons";
import { Empty, Field, Head } from "../../ui/parts";
import { toast, toastError } from "../../ui/toasts";
import { DataTable } from "../../ui/table";

const PAGE = 200;

interface Person extends Account {
  customers: { id: string; name: string; role: string }[];
}

/** One row for each person; the API has one for each membership. */
function peopleOf(items: Account[]): Person[] {
  const found = new Map<string, Person>();
  for (const item of items) {
    const person = found.get(item.userId) ?? { ...item, customers: [] };
    if (item.customerId)
      person.customers.push({ id: item.customerId, name: item.customerName ?? item.customerId, role: item.role ?? "" });
    found.set(item.userId, person);
  }
  return [...found.values()];
}

type Asked = { what: "suspend" | "mfa"; person: Person } | null;

export default function Users() {
  const [params, set] = useParams();
  const q = params["q"] ?? "";
  const [older, setOlder] = useState<{ q: string; items: Account[]; cursor?: string } | null>(null);
  const users = useQuery<AccountList>(q, (signal) => api.get("/accounts", { q, limit: PAGE }, signal));
  const rest = older?.q === q ? older : { q, items: [], cursor: users.data?.nextCursor };
  const more = () =>
    void api
      .get<AccountList>("/accounts", { q, limit: PAGE, cursor: rest.cursor })
      .then((next) => setOlder({ q, items: [...rest.items, ...next.items], cursor: next.nextCursor }))
      .catch(toastError);
  const act = useAction(users.reload);
  const [asked, setAsked] = useState<Asked>(null);
  const [link, setLink] = useState<{ email: string; url: string } | null>(null);
  const people = peopleOf([...(users.data?.items ?? []), ...rest.items]);
  const suspended = people.filter(({ status }) => status === "suspended").length;
  const reset = (person: Person) =>
    void api
      .post<ResetLink>(`/users/${person.userId}/reset-link`)
      .then((made) => {
        setLink({ email: person.email, url: made.resetUrl });
        toast(t("usr.resetSent", { email: person.email }));
      })
      .catch(toastError);
  return (
    <>
      <Head title={t("page.users")}>
        {users.data &&
          t(rest.cursor ? "usr.leadNewest" : suspended ? "usr.leadSuspended" : "usr.lead", {
            n: people.length,
            suspended,
          })}
      </Head>
      <div class="filters">
        <label class="search grow">
          <span class="vh">{t("usr.find")}</span>
          <Icon name="search" />
          <input
            type="search"
            placeholder={t("usr.find")}
            value={q}
            onInput={(event) => set({ q: event.currentTarget.value }, true)}
          />
        </label>
      </div>
      {link && (
        <Secret
          text={link.url}
          label={t("usr.link", { email: link.email })}
          note={t("usr.linkNote")}
          onDone={() => setLink(null)}
        />
      )}
      <DataTable
        title={t("page.users")}
        loaded={users}
        rows={people}
        rowKey={(row) => row.userId}
        csv="agentgate-users"
        empty={
          <Empty icon="people" title={t(q ? "usr.noneFound" : "usr.none")}>
            {t("usr.noneWhy")}
          </Empty>
        }
        footer={
          rest.cursor && (
            <button class="btn" onClick={more}>
              {t("decisions.older")}
            </button>
          )
        }
        columns={[
          {
            id: "email",
            label: t("usr.person"),
            cell: (row) => (
              <>
                {row.email}
                <small>{row.name || row.userId}</small>
              </>
            ),
            csv: (row) => row.email,
          },
          {
            id: "customers",
            label: t("usr.customers"),
            class: "opt",
            cell: (row) =>
              row.customers.length
                ? row.customers.map((each) => (
                    <span key={each.id} class="line-item">
                      <a href={`${HOME}/customers/${each.id}`}>{each.name}</a>{" "}
                      <span class="faint">{t(`role.${each.role}`)}</span>
                    </span>
                  ))
                : "–",
            csv: (row) => row.customers.map(({ name, role }) => `${name} (${role})`).join("; "),
          },
          {
            id: "status",
            label: t("usr.status"),
            cell: (row) => (
              <span
                class="tag"
                data-o={row.status === "active" ? "allow" : row.status === "suspended" ? "block" : "challenge"}
              >
                {t(`member.${row.status}`)}
              </span>
            ),
            csv: (row) => row.status,
          },
          factorColumn(),
          whenColumn("lastSignInAt", t("usr.seen"), (row: Person) => row.lastSignInAt),
          {
            id: "do",
            label: <span class="vh">{t("usr.do")}</span>,
            class: "n",
            cell: (row) => (
              <>
                <button
                  class="btn sq quiet"
                  popovertarget={`do-${row.userId}`}
                  aria-label={t("usr.doFor", { email: row.email })}
                >
                  <Icon name="dots" />
                </button>
                <div class="menu" id={`do-${row.userId}`} popover>
                  {row.status !== "invited" && <button onClick={() => reset(row)}>{t("usr.reset")}</button>}
                  {row.mfaEnabled && (
                    <button onClick={() => setAsked({ what: "mfa", person: row })}>{t("usr.mfaReset")}</button>
                  )}
                  {row.status === "suspended" ? (
                    <button
                      onClick={() =>
                        act(
                          () => api.post(`/users/${row.userId}/reactivate`),
                          t("usr.reactivated", { email: row.email }),
                        )
                      }
                    >
                      {t("usr.reactivate")}
                    </button>
                  ) : (
                    <button onClick={() => setAsked({ what: "suspend", person: row })}>{t("usr.suspend")}</button>
                  )}
                </div>
              </>
            ),
          },
        ]}
      />
      <FormDialog
        open={asked?.what === "suspend"}
        title={t("usr.suspendTitle", { email: asked?.person.email ?? "" })}
        lead={t("usr.suspendLead")}
        action={t("usr.suspend")}
        bad
        onClose={() => setAsked(null)}
        onSubmit={async (form) => {
          const reason = String(form.get("reason")).trim();
          await api.post(`/users/${asked!.person.userId}/suspend`, reason ? { reason } : {});
          toast(t("usr.suspended", { email: asked!.person.email }));
          setAsked(null);
          users.reload();
        }}
      >
        <Field id="reason" name="reason" label={t("usr.reason")} help={t("usr.reasonHelp")} maxlength={500} />
      </FormDialog>
      <Confirm
        open={asked?.what === "mfa"}
        title={t("usr.mfaTitle", { email: asked?.person.email ?? "" })}
        action={t("usr.mfaReset")}
        onClose={() => setAsked(null)}
        onConfirm={() => {
          const { person } = asked!;
          setAsked(null);
          act(() => api.post(`/users/${person.userId}/mfa/reset`), t("usr.mfaDone", { email: person.email }));
        }}
      >
        {t("usr.mfaLead")}
      </Confirm>
    </>
  );
}
