"""Package managers, programs that keep calendars and files in step, and checkers of pages: by the User-Agent."""

from agentgate.decision.signals.signal_input import Labels, SignalInput
from agentgate.decision.threat_data.user_agent_tokens import WordSearch

# As each writes itself, in lower case. None of these is a library that other programs use under its name.
PACKAGE_MANAGERS = (
    *("pip/", "uv/", "poetry/", "pdm/", "twine/", "conda/", "mamba/", "npm/", "yarn/", "pnpm/", "bun/", "corepack"),
    *(
        "debian apt-http",
        "ubuntu apt-http",
        "apt-cacher",
        "libdnf",
        "dnf/",
        "urlgrabber",
        "zypp",
        "libzypp",
        "pacman/",
        "apk-tools",
    ),
    *(
        "cargo/",
        "cargo ",
        "rustup/",
        "composer/",
        "apache-maven",
        "gradle/",
        "nuget ",
        "bundler/",
        "rubygems/",
        "homebrew/",
    ),
    *(
        "docker/",
        "docker-client/",
        "containerd/",
        "buildkit/",
        "skopeo/",
        "helm/",
        "kubelet/",
        "opentofu/",
        "terraform/",
    ),
    *("go-module-mirror", "hex/", "cpanminus", "flatpak", "snapd/", "guix", "nix/", "curl/nix"),
)
SYNC_CLIENTS = (
    *("davx5/", "ios/", "macos/", "mac os x/", "dataaccessd", "calendaragent", "addressbook/", "caldavsynchronizer/"),
    *(
        "microsoft-webdav-miniredir/",
        "davfs2/",
        "gvfs/",
        "cadaver/",
        "rclone/",
        "evolution/",
        "kde dav",
        "vdirsyncer",
        "dav4android",
    ),
    *(
        "khal",
        "owncloud",
        "mozilla/5.0 (linux) mirall/",
        "mozilla/5.0 (windows) mirall/",
        "mozilla/5.0 (macintosh) mirall/",
    ),
    *(
        "mozilla/5.0 (android) nextcloud",
        "mozilla/5.0 (ios) nextcloud",
        "mozilla/5.0 (ios) owncloud",
        "microsoft-exchange/",
    ),
    *("google-calendar-importer", "onecalendar", "fantastical", "busycal", "webdavfs/", "webdavlib/"),
)
# What site owners have their own pages looked at by: accessibility, correctness, speed. Anywhere in the text.
CHECKERS = WordSearch(
    (
        *("w3c_validator/", "w3c-checklink/", "w3c_css_validator", "w3c_i18n-checker", "validator.nu/", "w3c_unicorn/"),
        *(
            "siteimprove",
            "webaim",
            "silktide",
            "monsido",
            "pope tech",
            "accessibe",
            "accessibilitychecker",
            "tenon.io",
            "pa11y",
        ),
        *(
            "chrome-lighthouse",
            "google page speed insights",
            "gtmetrix",
            "webpagetest",
            "ptst/",
            "speedcurve",
            "yellowlab",
        ),
    )
)
# Mail programs with a browser's engine: they show pages too, and with these methods they keep calendars in step.
MAIL_PROGRAMS = WordSearch((" thunderbird/", " betterbird/", " icedove/"))
SYNC_METHODS = frozenset({"PROPFIND", "PROPPATCH", "REPORT", "OPTIONS", "PUT", "DELETE", "MKCALENDAR", "MKCOL"})
# No longer text is looked through.
_LOOKED_AT = 512


def tool_labels(request: SignalInput) -> Labels:
    """Return `ua.sync_client` of a mail program that keeps calendars in step; the others are told by the name alone."""
    if request.facts.method not in SYNC_METHODS or "ua.sync_client" in request.user_agent.labels:
        return ()
    return ("ua.sync_client",) if request.user_agent.is_mail_program else ()


def is_mail_program(lowered: str) -> bool:
    """Return whether a User-Agent in lower case names a mail program that shows pages too."""
    return MAIL_PROGRAMS.has_any(lowered[:_LOOKED_AT])


def tool_classes(lowered: str) -> Labels:
    """Return `ua.package_manager`, `ua.sync_client` or `ua.checker` of a User-Agent in lower case."""
    lowered = lowered[:_LOOKED_AT]
    if lowered.startswith(PACKAGE_MANAGERS):
        return ("ua.package_manager",)
    if lowered.startswith(SYNC_CLIENTS):
        return ("ua.sync_client",)
    return ("ua.checker",) if CHECKERS.has_any(lowered) else ()
