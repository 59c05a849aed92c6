"""Footing: all that what is remembered about visitors and agents was made of, and whether it is still the same."""

from agentgate.lib.keyring import Keyring
from agentgate.protection.decision.decider import Decider
from agentgate.protection.sites.directory import SiteDirectory

# Whose keys name visitors, and sign what they show.
_KEYS = ("visitor", "clearance")


class Footing:
    """The sites, threat data, models and keys of a moment."""

    def __init__(self, sites: SiteDirectory, decider: Decider, keyring: Keyring) -> None:
        self._sites = sites
        self._decider = decider
        self._keyring = keyring
        self.renew()

    def renew(self) -> None:
        """Take what there is now."""
        self._edition = self._sites.edition
        self.intel = self._decider.intel.current
        self.models = self._decider.models.view
        self._generation = self._keyring.generation
        self._keys = self._current_keys()

    def has_changed(self) -> bool:
        """Say whether any of it is another by now."""
        return (
            self._sites.edition != self._edition
            or self._decider.intel.current is not self.intel
            or self._decider.models.view is not self.models
            or (self._generation != self._keyring.generation and self._have_keys_changed())
        )

    def _have_keys_changed(self) -> bool:
        """Compare by value: keys are read anew every few seconds."""
        self._generation = self._keyring.generation
        return self._current_keys() != self._keys

    def _current_keys(self) -> tuple[bytes, ...]:
        return tuple(map(self._keyring.current, _KEYS))
