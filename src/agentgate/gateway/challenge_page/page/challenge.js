(() => {
  "use strict";
  const find = (id) => document.getElementById(id);
  const page = JSON.parse(find("page").textContent);
  const words = page.words;
  const mark = "agentgate:passed";
  let widget;
  find("plain").remove();

  // A page that is shown again so soon after a pass was not helped by it. The tab knows that of itself: others behind
  // the same address are other people. Where storage is forbidden the tab's name does, where the site has not taken it.
  const noted = () => {
    try {
      return sessionStorage.getItem(mark);
    } catch {
      return name.startsWith(mark) ? name.slice(mark.length) : page.stuck ? Date.now() : 0;
    }
  };
  const note = (value) => {
    try {
      if (value) sessionStorage.setItem(mark, String(value));
      else sessionStorage.removeItem(mark);
    } catch {
      if (!name || name.startsWith(mark)) name = value ? mark + value : "";
    }
  };

  // Where a form has to be sent again, the page does not open by itself.
  const opens = (text) => ({ text: page.resend ? "" : text });
  // One message at a time: a title, and at most one sentence, one list and one button.
  const say = (title, { text = "", causes = [], button = "", press } = {}) => {
    find("title").textContent = title;
    find("text").textContent = text;
    find("causes").replaceChildren(
      ...causes.map((cause) => {
        const item = document.createElement("li");
        item.textContent = cause;
        return item;
      }),
    );
    find("button").textContent = button;
    find("button").hidden = !button;
    find("button").onclick = press || null;
  };
  const quiet = () => {
    if (widget !== undefined) agentgate.remove(widget);
    widget = undefined;
    find("widget").hidden = true;
  };
  const ask = (title, more) => {
    quiet();
    say(title, more);
    find("button").focus();
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
    HTMLFormElement.prototype.setAttribute.call(form, "action", url + location.hash);
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

  // Going back shows the form as it was left, with everything that was typed; its address opens it empty.
  const goBack = () => {
    const before = document.referrer.split("#")[0];
    if (history.length > 1 && before && before === page.back) history.back();
    else location.assign(page.back);
  };
  const resend = () => ask(words.title, { text: words.resend, button: words.continue, press: goBack });

  const bare = (url) => new URL(url, location.href).href.split("#")[0];
  const goOn = async (url) => {
    if (page.capsule) {
      try {
        send(await post("replay", { capsule: page.capsule }));
      } catch {
        resend();
      }
    } else if (page.resend) resend();
    // To the same address it would be a jump within this page, where there is a part to jump to.
    else if (location.hash && bare(url) === bare(location.href)) location.reload();
    else location.replace(url + location.hash);
  };

  const passed = async (token) => {
    say(words.checking_title, opens(words.done));
    let next;
    try {
      next = (await post("pass", { token, return: page.return, framed: page.framed })).return;
    } catch {
      ask(words.offline, { button: words.retry, press: run });
      return;
    }
    note(Date.now());
    await goOn(next);
  };

  const run = () => {
    note(0);
    quiet();
    if (!window.agentgate) {
      ask(words.offline, { button: words.retry, press: () => location.reload() });
      return;
    }
    const checking = () => say(words.checking_title, opens(words.checking_text));
    // What the widget asks or says then, it says itself.
    const widgetSpeaks = () => say(words.title);
    checking();
    find("widget").hidden = false;
    widget = agentgate.render("#widget", {
      sitekey: page.siteKey,
      action: page.action,
      mode: page.mode,
      language: page.language,
      theme: "auto",
      size: "flexible",
      responseField: false,
      refreshExpired: "never",
      beforeInteractiveCallback: widgetSpeaks,
      afterInteractiveCallback: checking,
      errorCallback: widgetSpeaks,
      callback: passed,
    });
  };
  find("widget").addEventListener("statechange", ({ detail }) => {
    if (detail.state === "checking") say(words.checking_title, opens(words.checking_text));
  });

  if (Date.now() - Number(noted()) < 60000) {
    const causes = [words.stuck_cookies, words.stuck_address];
    ask(words.stuck_title, { causes, button: words.retry, press: run });
  } else {
    say(words.checking_title, opens(words.checking_text));
    // The check's own script has been run by then, or could not be had.
    addEventListener("DOMContentLoaded", run);
  }
})();
