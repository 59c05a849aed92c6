(() => {
  "use strict";
  const find = (id) => document.getElementById(id);
  const page = JSON.parse(find("page").textContent);
  const mark = "agentgate:passed";
  let widget;

  // A page that is shown again so soon after a pass was not helped by it. Storage may be forbidden; then the server's
  // own note has to do.
  const passedLately = () => {
    try {
      return Date.now() - Number(sessionStorage.getItem(mark)) < 60000;
    } catch {
      return false;
    }
  };
  const note = (value) => {
    try {
      if (value) sessionStorage.setItem(mark, String(value));
      else sessionStorage.removeItem(mark);
    } catch {
      // As above.
    }
  };

  const show = (...parts) => {
    for (const id of ["check", "stuck", "resend", "failed"]) find(id).hidden = !parts.includes(id);
  };
  const say = (text) => {
    find("text").textContent = text;
  };

  const post = async (path, body) => {
    const answer = await fetch(page.base + path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
      cache: "no-store",
      credentials: "same-origin",
    });
    if (!answer.ok) throw new Error("refused");
    return answer.json();
  };

  // Methods of the prototype, because a field of the form may be called `submit`.
  const send = ({ url, enctype, fields }) => {
    const form = document.createElement("form");
    form.hidden = true;
    HTMLFormElement.prototype.setAttribute.call(form, "method", "post");
    HTMLFormElement.prototype.setAttribute.call(form, "action", url);
    HTMLFormElement.prototype.setAttribute.call(form, "enctype", enctype);
    for (const [name, value] of fields) {
      const field = document.createElement("textarea");
      field.name = name;
      field.value = value;
      Node.prototype.appendChild.call(form, field);
    }
    document.body.appendChild(form);
    HTMLFormElement.prototype.submit.call(form);
  };

  const goOn = async (url) => {
    if (page.capsule) {
      try {
        send(await post("replay", { capsule: page.capsule }));
      } catch {
        show("resend");
      }
    } else if (page.resend) {
      show("resend");
    } else {
      location.replace(url);
    }
  };

  const passed = async (token) => {
    say(page.words.done);
    let next;
    try {
      next = (await post("pass", { token, return: page.return, framed: page.framed })).return;
    } catch {
      show("failed");
      find("retry").focus();
      return;
    }
    note(Date.now());
    await goOn(next);
  };

  const run = () => {
    note(0);
    show("check");
    say(page.words.checking_text);
    if (!window.agentgate) {
      show("failed");
      return;
    }
    if (widget !== undefined) agentgate.remove(widget);
    widget = agentgate.render("#widget", {
      sitekey: page.siteKey,
      action: page.action,
      mode: page.mode,
      language: page.language,
      theme: "auto",
      size: "flexible",
      responseField: false,
      refreshExpired: "never",
      callback: passed,
    });
  };

  for (const button of document.querySelectorAll("button")) button.addEventListener("click", run);
  if (page.stuck || passedLately()) show("stuck");
  else run();
})();
