/** check.js: what people see. It hands itself to the script that loaded it. */

import type { Ui } from "../ui";
import { mount } from "./view";

(globalThis as unknown as Record<string, ((loaded: Ui) => void) | undefined>)["agentgate:check"]?.({ mount });
