#include "harmless_arguments.hpp"

#include <algorithm>
#include <sstream>

namespace penstock::frameworks {
namespace {

/// Beginnings of names that change neither model, time nor memory here.
constexpr std::string_view kUnreadPrefixes = R"(
    adam_ lion_ muon_ mup_ comet_ mlflow_ wandb_ tensorboard_ one_logger_ log_ lr_ inprocess_ inference_
    fault_injector_ flight_recorder_ fim_ rl_ grpo_ pytorch_profiler_ moe_routing_trace_ moe_hybridep_
    moe_deepep_ moe_flex_dispatcher_ nccl_ ckpt_ dist_ckpt_ non_persistent_ save_ no_save_ no_log_ no_rl_
    no_inference_ rdzv_ container_ tokenizer_ tiktoken_ tp_comm_ no_tp_comm_ disable_tp_comm_ megatron_fsdp_
    cuda_graph_ eval_ profile_ manual_gc timing_ dataloader_ straggler_ yarn_ ddp_ no_flight_recorder_
    disable_flight_recorder_ enable_flight_recorder_ logits_save_ hf_tokenizer_ sft_ nsys_ use_turbo_ turbo_)";

/// Names that change neither model, time nor memory here. They are of Megatron-LM until 0.19, Megatron-Bridge
/// 0.6, Megatron-DeepSpeed, torchrun, DeepSpeed and srun. Others count only beside another argument, which
/// then reads them.
constexpr std::string_view kUnreadNames = R"(
    abort_on_unmet_fused_kernel_constraints account accumulate_allreduce_grads_in_fp32
    activation_func_clamp_value activation_offload_fraction
    activations_checkpoint_num_layers add_bias_linear add_extra_token_to_sequence add_qkv_bias
    adlr_autoresume adlr_autoresume_interval ai_framework align_grad_reduce align_param_gather
    allow_ambiguous_pad_tokens allow_custom_feature_dirs allow_run_as_root also_save_hf_checkpoint
    aml_data_download_path app_tag_run_name app_tag_run_version apply_layernorm_1p
    apply_query_key_layer_scaling apply_residual_connection_post_layernorm apply_rope_fusion
    apply_wd_to_qk_layernorm async_ckpt_cpu_priority async_ckpt_io_priority async_ckpt_use_cpu_shm async_save
    async_strategy async_tensor_model_parallel_allreduce async_write_results_mp_mode
    attention_softmax_in_fp32 auto_continue_train auto_detect_ckpt_format autocast_enabled
    average_in_collective barrier_with_L1_time batch_invariant_mode batch_p2p_comm batch_p2p_sync
    bert_embedder_type bert_load bert_no_binary_head beta_fast beta_slow bias_activation_fusion
    bias_dropout_fusion bias_gelu_fusion bias_swiglu_fusion bind_cores_to_rank bind_to blend_per_split
    block_data_path cache_mla_latents calc_ft_timeouts calc_individual_gpu_perf calc_relative_gpu_perf
    calculate_per_token_loss cap_add capture_range capture_range_end chat_template chat_template_path
    check_for_large_grads check_for_nan_in_grad check_for_nan_in_loss_and_grad check_for_spiky_loss
    check_optimizer_step_success check_weight_hash_across_dp_replicas_interval
    checkpoint_activations_with_mpu checkpoint_num_layers classes_fraction clip_grad
    clone_scatter_output_in_embedding codecarbon_dir config_logger_dir constraint contigious_checkpointing
    cpu_bind cpu_offloading_activations cpu_offloading_double_buffering
    cpu_offloading_retain_pinned_cpu_buffers cpu_offloading_weights cpus_per_gpu cpus_per_task
    create_all_gather_group create_attention_mask create_attention_mask_in_dataloader create_moe_param_group
    cross_entropy_fusion_impl cross_entropy_loss_fusion cudabacktrace data data_args_path data_cache_path
    data_file data_impl data_parallel_random_init data_parallel_sharding_strategy data_path
    data_per_class_fraction data_sharding dataset dataset_additional_keys dataset_path dataset_type DDP_impl
    deallocate_pipeline_outputs decode_only_cuda_graphs decoupled_lr decoupled_min_lr decoupled_weight_decay
    decrease_batch_size_if_needed deepspeed deepspeed_activation_checkpointing deepspeed_mpi
    defer_npy_index_mmap delay delay_grad_reduce delay_offload_until_cuda_graph
    delay_param_gather delay_wgrad_compute delta_offload_bytes_across_pp_ranks deprecated_use_mcore_models
    deterministic_mode device disable_align_grad_reduce disable_bf16_reduced_precision_matmul
    disable_ckpt_load_validate_sharding_integrity disable_clone_scatter_output_in_embedding
    disable_compile_dependencies disable_gloo_process_groups disable_jit_fuser
    disable_last_saving disable_log_loss_scale_to_tensorboard disable_mamba_mem_eff_path
    disable_manual_gc_eval disable_mlflow disable_msc disable_msc_deprecated disable_pad_vocab_size
    disable_scaled_init_method disable_straggler_on_startup disable_stream_ckpt_dequant
    disable_strict_fsdp_dtensor_load disable_symmetric_registration disable_tensorboard
    disable_tokenizer_sentencepiece_ignore_extra_whitespaces disable_use_tokenizer_model_from_checkpoint_args
    disable_wandb distrib_optim_fully_reshardable_mem_efficient distributed_backend
    distributed_timeout_minutes distributed_timeout_seconds_after_init distribution
    drop_last_partial_validation_sequence ds_inference dump_param_to_param_group_map duration
    embedding_init_method_std embedding_path empty_cuda_cache empty_unused_memory_level enable_autocast
    enable_chunked_prefill enable_cuda_graph enable_each_rank_log enable_experimental enable_ft_package
    enable_full_sharding_in_hsdp enable_logging enable_megatron_core_experimental enable_msc
    enable_one_logger enable_primus_turbo enable_straggler_on_startup encoder_seq_length end_weight_decay
    entrypoint env eod_mask_loss eod_token ep_overlap_early_attn_memory_release epochs error
    error_injection_rate error_injection_type evidence_data_path exclude exclusive exit_duration_in_mins
    exit_interval exit_on_missing_checkpoint exit_signal exit_signal_handler
    exit_signal_handler_for_dataloader exit_signal_handler_for_training exp_dir exp_name experiment export
    external_cuda_graph external_gpu_device_mapping extra_vocab_size fake_process_group fast_cache_load
    file_sink_level fine_grained_offloading_max_inflight_offloads finetune 
    flash_attention_version flash_decode force_multi force_overwrite force_system_message
    fp16_lm_cross_entropy fp4_quantizer_factory fp8_amax_compute_algo
    fp8_amax_history_len fp8_interval fp8_margin 
    fp8_quantizer_factory fp8_wgrad framework
    fsdp_all_gather_in_start_param_sync fsdp_db_use_persist_buf_on_alloc_fail fsdp_double_buffer
    fsdp_manual_registration ft_num_warmup_iters full_validation fused_residual_rmsnorm fused_single_qkv_rope
    gated_linear_unit glu_linear_offset gpu_bind gpu_individual_perf_threshold gpu_relative_perf_threshold
    gpu_sniff_test_interval gpus gpus_per_node gpus_per_task grad_norm_skip_threshold grad_reduce_in_fp32
    gradient_accumulation_fusion gradient_reduce_div_fusion handler_name head_lr_mult heartbeat_interval
    hetereogenous_dist_checkpoint hf_distributed_save hf_model_id hf_model_revision hf_save_every_n_ranks
    hf_source_path hf_trust_remote_code high_priority_a2a_comm_stream high_priority_stream_groups hostfile
    hysteresis include indexer_batch_size indexer_log_interval init_method_xavier_normal
    init_method_xavier_uniform init_model_with_meta_device init_training_step initial_loss_scale
    inter_document_masking ipc is_instruction_dataset iter_per_epoch iterations_to_skip jit_compile job_name
    keep_fp8_transpose_cache keep_last kill_on_bad_exit kill_switch_file kill_switch_path
    kitchen_attention_backend label launcher launcher_args layernorm_epsilon layernorm_zero_centered_gamma
    lazy_mpu_init load load_main_params_from_ckpt load_tag local_addr local_rank local_ranks_filter
    logger_name logging_level logits_load_decode_threads logits_load_ignore_errors logits_load_kd_loss_alpha
    logits_load_msc_prefetch_depth logits_load_prefetch_factor logs_specs loss_scale loss_scale_window lr
    make_vocab_size_divisible_by map_by mask_factor mask_prob mask_type masked_softmax_fusion master_addr
    master_port max_padding_length max_restarts max_seqlen_per_dp_cp_rank max_sequence_length
    max_tokens_to_oom mca mem mem_bind memory_efficient_layer_norm memory_snapshot_path merge_file
    metadata_path microbatch_group_size_per_virtual_pipeline_stage microbatch_group_size_per_vp_stage
    mid_level_dataset_surplus min_loss_scale min_lr min_offloaded_tensor_size mla_down_proj_fusion
    mlp_chunks_for_prefill mmap_bin_files mmap_warmup mock mock_data module modules moe_apply_probs_on_input
    moe_enable_deepep moe_enable_routing_replay moe_extended_tp moe_grouped_gemm moe_mlp_glu_interleave_size
    moe_ncclep_static_shape moe_ncclep_zero_copy moe_pad_expert_input_to_capacity
    moe_pad_experts_for_cuda_graph_inference moe_paged_stash_buffer_size_factor_cpu
    moe_paged_stash_buffer_size_factor_cuda moe_paged_stash_page_size moe_per_layer_logging
    moe_permute_fusion moe_permute_fusion_into_hybridep moe_router_bias_update_rate moe_router_dtype
    moe_router_force_biased moe_router_force_load_balancing moe_router_fusion moe_router_padding_for_fp8
    moe_router_padding_for_quantization moe_router_quantile_balancing_ema moe_router_score_function
    moe_router_topk_limited_devices moe_shared_expert_glu_interleave_size moe_shared_expert_overlap
    moe_single_grouped_bias moe_single_grouped_weight moe_token_dispatcher_type moe_token_drop_policy
    moe_upcycling_granularity moe_use_legacy_grouped_gemm moe_use_upcycling moe_z_loss_coeff monitor_interval
    monitor_process_interval monitor_process_logdir monitor_thread_interval mpi mscale mscale_all_dim
    mtp_detach_heads mtp_loss_scaling_factor mtp_standalone mtp_use_repeated_layer multiple_validation_sets
    network nnodes no_align_grad_reduce no_align_param_gather no_async_tensor_model_parallel_allreduce
    no_barrier_with_level_1_timing no_bias_dropout_fusion no_bias_gelu_fusion no_bias_swiglu_fusion
    no_binary_head no_check_for_nan_in_loss_and_grad no_ckpt_fully_parallel_save
    no_ckpt_load_validate_sharding_integrity no_clone_scatter_output_in_embedding no_container_mount_home
    no_container_remap_root no_contiguous_buffers_in_local_ddp no_create_attention_mask_in_dataloader
    no_data_sharding no_delay_grad_reduce no_gradient_accumulation_fusion
    no_gradient_reduce_div_fusion no_initialization no_load_optim no_load_rng no_local_rank no_manual_gc_eval
    no_masked_softmax_fusion no_mmap_bin_files no_one_logger no_overlap_p2p_communication no_pad_vocab_size
    no_persist_layer_norm no_pin_cpu_grads no_pin_cpu_params no_pipeline_parallel no_python
    no_query_key_layer_scaling no_rope_fusion no_scatter_gather_tensors_in_pipeline no_ssh no_ssh_check
    no_stream_ckpt_dequant no_strict_fsdp_dtensor_load no_tokenizer_sentencepiece_ignore_extra_whitespaces
    no_use_tokenizer_model_from_checkpoint_args no_weight_decay_cond_type
    no_yarn_correction_range_round_to_int node_rank nodelist nodes npernode nproc_per_node nprocs ntasks
    ntasks_per_node null_tokenizer_eod_id null_tokenizer_pad_id num_dataset_builder_threads
    num_gpu_perf_scores_to_print num_gpus num_layers_at_end_in_bf16 num_layers_at_start_in_bf16 num_nodes
    num_speculative_tokens num_workers numpy_random_state nvtx_ranges object_storage_cache_path
    offload_modules offset_sampling_seed_by_dp_rank onnx_safe openai_gelu optimizer_cuda_graph
    optimizer_offload_fraction original_max_position_embeddings outer_dp_sharding_strategy output
    output_bert_embeddings output_file overlap_cpu_optimizer_d2h_h2d
    overlap_dispatch_backward_with_experts_wgrad overlap_p2p_comm overlap_p2p_comm_warmup_flush
    overlap_p2p_communication_warmup_flush overlap_param_gather overlap_param_gather_with_optimizer_step
    override_ckpt_iteration override_lr_decay_style override_lr_scheduler override_opt_param_scheduler
    oversubscribe pad_buckets_for_high_nccl_busbw pad_vocab_size padded_samples
    param_name_patterns_for_fp32_local_accumulation params_dtype partition patch_tokenizer_type path_to_cache
    per_dataset_sequences_path per_split_data_args_path perform_initialization persist_layer_norm
    persistent_save_interval phase_transition_iterations pin_cpu_grads pin_cpu_params pipeline_dtype
    pipeline_model_parallel_comm_backend platform pretrain_script pretrained_checkpoint privileged profile
    profiling_interval progress_watchdog_interval prompt_type python_backtrace pytorch qk_clip qk_clip_alpha
    qk_clip_threshold qos query_in_block_prob rampup_batch_size random_seed rank recompute_method
    recompute_modules recompute_num_layers record_memory_history record_shapes redirects
    reduce_scatter_with_fp32_accumulation refit_method relative_attention_max_distance
    relative_attention_num_buckets replication replication_factor replication_jump report_bindings
    report_time_interval rerun_mode rerun_state_machine reservation reset_attention_mask reset_position_ids
    result_rejected_tracker_filename retriever_report_topk_accuracies retriever_score_scaling
    return_data_index reuse_grad_buf_for_mxfp8_param_ag rm role rope_scaling_factor rope_type rotary_base
    rotary_interleaved rotary_percent rotary_scaling_factor rotary_seq_len_interpolation_factor run_path
    run_workload_inspector_server runtime s3_cache_path sample sample_rate save
    scatter_embedding_sequence_parallel security_opt seed separate_final_epoch seq_len_interpolation_factor
    sequence_length sequence_parallel sequences_per_dataset sft sgd_momentum shape_order sharp_enabled_group
    shm shm_size short_seq_prob should_pad_vocab sink_level skip_sync_grad_norm_across_mp skip_train
    skip_train_metrics_log sp_tokenizer_kwargs special_tokens spiky_loss_factor split split_sft ssh_port
    standalone start_eval_at_iter start_method start_weight_decay stats stderr_sink_level
    step_batch_size_schedule stop_if_detected stop_on_exit storage_writers_per_rank store_param_remainders
    stream_ckpt_dequant strict_fsdp_dtensor_load suggested_communication_unit_size symmetric_ar_type
    sync_tp_duplicated_parameters synchronize_each_layer tag_output task te_rng_tracker tee tensor_inspect
    termination_grace_time test_data_path test_mode threads_per_core time titles_data_path token_dtype_code
    tokenizer torch_fsdp2_no_reshard_after_forward torch_fsdp2_reshard_after_forward tp_only_amax_red trace
    train_data train_data_path train_iters train_mode train_samples train_sync_interval train_tokens
    trainable transformer_impl transformer_pipeline_model_parallel_size transformer_timers trust_remote_code
    ulimit unbuffered universal_checkpoint use_checkpoint_args use_checkpoint_lr_scheduler
    use_checkpoint_opt_param_scheduler use_contiguous_buffers_in_local_ddp use_cpu_initialization
    use_decentralized_pg use_dist_ckpt use_dist_ckpt_deprecated use_flash_attn
    use_fused_moe_token_permute_and_unpermute use_fused_rmsnorm use_fused_rotary_pos_emb use_fused_swiglu
    use_fused_weighted_squared_relu use_gloo_process_groups use_grouped_gemm_for_dense_mlp
    use_grouped_gemm_for_shared_expert use_inference_optimized_layers use_kitchen_attention
    use_layer_wise_distributed_optimizer use_layer_wise_param_layout use_legacy_models
    use_legacy_static_engine use_mamba_mem_eff_path use_mcore_models use_mp_args_from_checkpoint_args use_mup
    use_npu use_one_sent_docs use_persistent_ckpt_worker use_pin_memory use_precision_aware_optimizer
    use_pytorch_profiler use_ring_exchange_p2p use_rope_scaling use_same_sampling_seed_across_dp_ranks
    use_sharp use_te_activation_func use_te_rng_tracker use_tokenizer_model_from_checkpoint_args
    use_tokenizer_vocab_size use_torch_optimizer_for_cpu_offload use_transformer_engine_full_layer_spec
    use_transformer_engine_op_fuser use_tutel user user_name valid_data valid_data_path validation_set_names
    verify_correctness verify_integrity virtual_local_rank vocab_extra_ids vocab_file vocab_size volume wait
    warmup wckey weight_decay weight_decay_incr_style wgrad_deferral_limit window_attn_skip_freq work_group
    workdir workspace world_size zero_contigious_gradients)";

bool is_capital(const std::string& name) {
  return std::ranges::none_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
}

}  // namespace

bool is_harmless(const std::string& name) {
  static const auto names = words_of(kUnreadNames), prefixes = words_of(kUnreadPrefixes);
  return is_capital(name) || names.contains(name) ||
         std::ranges::any_of(prefixes, [&](const std::string& prefix) { return name.starts_with(prefix); });
}

std::set<std::string, std::less<>> words_of(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::set<std::string, std::less<>> out;
  for (std::string word; in >> word;) out.insert(word);
  return out;
}

}  // namespace penstock::frameworks
