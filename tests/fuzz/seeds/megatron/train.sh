PP=2
ARGS=(
  --num-layers 4 --hidden-size 8 --num-attention-heads 2 --seq-length 4 --max-position-embeddings 4 # small
  --vocab-size 16 --make-vocab-size-divisible-by 1 --ffn-hidden-size 16
  --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear
)
torchrun pretrain_gpt.py "${ARGS[@]}" --pipeline-model-parallel-size ${PP:-4} --tensor-model-parallel-size=2 \
  --pipeline-model-parallel-layout 'Et|(t|)*2,tL' --micro-batch-size 1 --global-batch-size 8 --bf16 \
  --sequence-parallel --use-distributed-optimizer --recompute-granularity full --recompute-method uniform
