"""Every input of the form, by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Setup:
    """fields: inputs by name. blocks: parts of the form that come and go."""

    fields: dict[str, Any] = field(default_factory=dict)
    blocks: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Any]:
        return list(self.fields.values())

    def read(self, form: Mapping[Any, Any]) -> dict[str, Any]:
        """Component values -> the plain form that `ui.features.form` understands."""
        return {name: form[component] for name, component in self.fields.items()}
