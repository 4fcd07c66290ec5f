"""Cost of an attention with its projections per sample: Layers::attention of models/layers.cpp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .rules import Work


@dataclass(frozen=True)
class Attention:
    """Heads over projected queries, keys and values, and the projection of their result."""

    queries: int  #: tokens
    keys: int  #: tokens
    hidden: int  #: width of its queries and of its output
    heads: int
    kv_heads: int  #: of keys and values, which groups of heads share
    head: int  #: width of a head
    key_width: int  #: of what keys are projected from
    value_width: int
    bias: bool = False  #: of all four projections
    qkv_bias: bool = False  #: of only the first three
    rotary: bool = False
    qk_norm: bool = False
    core: str = "flash"  #: or "plain"; as docs/formats/model.md
    causal: bool = False  #: the kernel's own mask; one that the module makes is a tensor of unknown numbers

    @property
    def inner(self) -> int:
        return self.heads * self.head

    @property
    def shared(self) -> int:
        return self.kv_heads * self.head

    def parameters(self) -> int:
        matrices = 2 * self.hidden * self.inner + (self.key_width + self.value_width) * self.shared
        biases = (self.bias or self.qkv_bias) * (self.inner + 2 * self.shared) + self.bias * self.hidden
        return matrices + biases + self.qk_norm * 2 * self.head

    def extents(self) -> dict[str, int]:
        return {
            "queries": self.queries,
            "keys": self.keys,
            "hidden": self.hidden,
            "heads": self.heads,
            "key_width": self.key_width,
            "value_width": self.value_width,
            "bias": int(self.bias),
            "kv_heads": 0 if self.kv_heads == self.heads else self.kv_heads,
            "rotary": int(self.rotary),
            self.core: 1,
            "inner": 0 if self.inner == self.hidden else self.inner,
            "qkv_bias": int(self.qkv_bias),
            "qk_norm": int(self.qk_norm),
            "causal": int(self.causal),
        }

    def saved_numbers(self, element_bytes: int) -> int:
        """Query, key, value, the core's own, context, output; before their norms query and key once more."""
        projected = self.queries * self.inner + 2 * self.keys * self.shared
        normed = self.qk_norm * (self.queries * self.inner + self.keys * self.shared)
        if self.core == "flash":  # a number in fp32 for each query of each head
            core = -(-4 * self.heads * self.queries // element_bytes)
        else:
            core = self.heads * self.queries * self.keys
        return projected + core + self.queries * (self.inner + self.hidden) + normed

    def work(self, needs: Sequence[bool], element_bytes: int) -> Work:
        """`needs`: of query, key and value. Softmax is not counted."""
        of_query = 2 * self.queries * self.hidden * self.inner
        of_key, of_value = (2 * self.keys * width * self.shared for width in (self.key_width, self.value_width))
        projections = 2 * of_query + of_key + of_value
        products = 4 * self.queries * self.keys * self.inner
        asked = sum(work * need for work, need in zip((of_query, of_key, of_value), needs))
        kept = self.saved_numbers(element_bytes)
        to_inputs = 2 * products + of_query + asked
        return Work("attention", self.extents(), projections + products, to_inputs, projections, kept)
