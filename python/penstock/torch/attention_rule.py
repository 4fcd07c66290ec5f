"""Cost of an attention with its projections per sample: Layers::attention of models/layers.cpp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .masks import Mask
from .rules import Work


@dataclass(frozen=True)
class Attention:
    """Heads over projected queries, keys and values, and the projection of their result."""

    queries: int  #: tokens
    keys: int  #: tokens
    hidden: int  #: width of its output
    heads: int
    kv_heads: int  #: of keys and values, which groups of heads share
    head: int  #: width of a head's queries and keys
    query_width: int  #: of what queries are projected from
    key_width: int
    value_width: int
    value_head: int  #: width of a head's values
    rotary_width: int = 0  #: last numbers of a key that all heads take as they come (DeepSeek's latent attention)
    bias: bool = False  #: of all four projections
    qkv_bias: bool = False  #: of only the first three
    rotary: bool = False
    qk_norm: bool = False
    core: str = "flash"  #: or "plain"; as docs/formats/model.md
    mask: Mask = Mask("none")

    @property
    def inner(self) -> int:
        return self.heads * self.head

    @property
    def shared(self) -> int:
        """Width of its keys as the core reads them."""
        return self.kv_heads * self.head

    @property
    def projected(self) -> int:
        """Width of its keys without the part that heads share."""
        return self.kv_heads * (self.head - self.rotary_width)

    @property
    def values(self) -> int:
        return self.kv_heads * self.value_head

    @property
    def result(self) -> int:
        return self.heads * self.value_head

    def parameters(self) -> int:
        keys = (self.key_width - self.rotary_width) * self.projected
        matrices = self.query_width * self.inner + keys + self.value_width * self.values + self.result * self.hidden
        biases = (self.bias or self.qkv_bias) * (self.inner + self.projected + self.values) + self.bias * self.hidden
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
            "query_width": 0 if self.query_width == self.hidden else self.query_width,
            "value_head": 0 if self.value_head == self.head else self.value_head,
            "rotary_width": self.rotary_width,
        } | self.mask.extents()

    def saved_numbers(self, element_bytes: int) -> int:
        """Query, key, value, the core's own, context, output; before their norms query and key once more."""
        projected = self.queries * self.inner + self.keys * (self.shared + self.values)
        normed = self.qk_norm * (self.queries * self.inner + self.keys * self.shared)
        if self.core == "flash":  # a number in fp32 for each query of each head
            core = -(-4 * self.heads * self.queries // element_bytes)
        else:
            core = self.heads * self.queries * self.keys
        return projected + core + self.queries * (self.result + self.hidden) + normed

    def work(self, needs: Sequence[bool], element_bytes: int) -> Work:
        """`needs`: of query, key and value. Softmax is not counted."""
        of_query = 2 * self.queries * self.query_width * self.inner
        of_key = 2 * self.keys * (self.key_width - self.rotary_width) * self.projected
        of_value = 2 * self.keys * self.value_width * self.values
        to_output = 2 * self.queries * self.result * self.hidden
        projections = of_query + of_key + of_value + to_output
        products = 2 * self.queries * self.keys * (self.inner + self.result)
        asked = sum(work * need for work, need in zip((of_query, of_key, of_value), needs))
        kept = self.saved_numbers(element_bytes)
        to_inputs = 2 * products + to_output + asked
        return Work("attention", self.extents(), projections + products, to_inputs, projections, kept)
