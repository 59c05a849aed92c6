/** `<agentgate-check>`: a form-associated element whose value is the token. */

import type { Result } from "../types/agentgate";
import { AgentGateError } from "./errors";
import { listen, make } from "./page";
import { bare } from "./safe";
import { add, find, remove } from "./registry";

/** The browser's own words, in its own language, for a field that has to be filled in. */
function missingMessage(): string {
  const field = make("input");
  field.required = true;
  return field.validationMessage || "!";
}

export function defineElement(): void {
  class AgentGateCheck extends HTMLElement {
    declare private readonly inside: ElementInternals | undefined;
    declare private readonly root: ShadowRoot;
    declare value: string;

    static get formAssociated(): boolean {
      return true;
    }

    static get observedAttributes(): string[] {
      return ["sitekey", "action", "mode", "required"];
    }

    constructor() {
      super();
      this.value = "";
      this.root = this.attachShadow(bare({ mode: "open" }));
      this.inside = this.attachInternals?.();
      listen(this, "invalid", () => find(this)?.focus());
    }

    connectedCallback(): void {
      if (!this.hasAttribute("name")) this.name = "agentgate-token";
      // It must be able to take the focus, or the browser cannot say what is missing.
      if (!this.hasAttribute("tabindex")) this.tabIndex = -1;
      this.mount();
    }

    disconnectedCallback(): void {
      // Moved within the page it is back by then.
      setTimeout(() => this.isConnected || remove(this));
    }

    attributeChangedCallback(name: string, before: string | null, after: string | null): void {
      if (before === after || !find(this)) return;
      if (name === "required") this.set(this.value);
      else this.mount();
    }

    formResetCallback(): void {
      this.reset();
    }

    private mount(): void {
      if (!this.getAttribute("sitekey")) return;
      this.set("");
      // Without internals (Safari before 16.4) a hidden field carries the value.
      const setValue = this.inside ? (token: string) => this.set(token) : undefined;
      const plain: Record<string, string> = {};
      for (const { name, value } of this.attributes) plain[name] = value;
      add({ element: this, parent: this.root, setValue }, plain, this.dataset, { responseFieldName: this.name });
    }

    private set(token: string): void {
      this.value = token;
      this.inside?.setFormValue(token || null);
      const missing = this.required && !token;
      this.inside?.setValidity(bare({ valueMissing: missing }), missing ? missingMessage() : "");
    }

    get form(): HTMLFormElement | null {
      return this.inside?.form ?? null;
    }
    get name(): string {
      return this.getAttribute("name") ?? "";
    }
    set name(value: string) {
      this.setAttribute("name", value);
    }
    get required(): boolean {
      return this.hasAttribute("required");
    }
    set required(value: boolean) {
      this.toggleAttribute("required", !!value);
    }
    get validity(): ValidityState | undefined {
      return this.inside?.validity;
    }
    checkValidity(): boolean {
      return this.inside?.checkValidity() ?? true;
    }
    reportValidity(): boolean {
      return this.inside?.reportValidity() ?? true;
    }
    async execute(): Promise<Result> {
      const widget = find(this);
      if (!widget) throw new AgentGateError("site_invalid", { message: "The option sitekey is missing." });
      return widget.execute();
    }
    reset(): void {
      find(this)?.reset();
    }
  }
  customElements.define("agentgate-check", AgentGateCheck);
}
