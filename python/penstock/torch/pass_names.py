"""Names in a profile for the passes of a pipeline stage, by which `penstock import trace` recognises them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.distributed.pipelining import PipelineStage
from torch.profiler import record_function


def name_passes(stage: PipelineStage) -> PipelineStage:
    """Has a profiler see every forward and backward pass of the stage, and returns the stage.

    The names are those of torch's own runtime ("PP:1F0": stage 1, forward, micro-batch 0; B, I and W backward).
    Torch 2.15 names no passes of Schedule1F1B, and a forward and a backward pass that overlap it gives one name.
    """

    def named(run: Callable[..., Any], letter: Callable[[dict[str, Any]], str]) -> Callable[..., Any]:
        def pass_(micro_batch: int, *args: Any, **kwargs: Any) -> Any:
            with record_function(f"PP:{stage.stage_index}{letter(kwargs)}{micro_batch}"):
                return run(micro_batch, *args, **kwargs)

        return pass_

    def backward_letter(kwargs: dict[str, Any]) -> str:
        return "B" if kwargs.get("full_backward", True) else "I"

    setattr(stage, "forward_one_chunk", named(stage.forward_one_chunk, lambda _: "F"))
    setattr(stage, "backward_one_chunk", named(stage.backward_one_chunk, backward_letter))
    setattr(stage, "backward_weight_one_chunk", named(stage.backward_weight_one_chunk, lambda _: "W"))
    return stage
