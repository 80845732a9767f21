package statusreg

// aicpuCodes is the error codes of the AI CPU, after the CANN runtime and AI
// CPU sources. That the status of an overflow record holds these same numbers
// is not stated anywhere, so they are hints.
var aicpuCodes = []codeRow{
	{1, 1, unofficial, "parameter", "invalid parameter", "参数无效"},
	{2, 2, unofficial, "inner", "internal error", "内部错误"},
	{3, 3, unofficial, "timeout", "timeout", "超时"},
	{6, 6, unofficial, "end_of_sequence", "end of sequence (no error)", "序列结束(不是错误)"},
	{7, 7, unofficial, "silent_fault", "silent fault", "静默故障"},
	{8, 8, unofficial, "abort", "aborted", "任务中止"},
	{9, 12, unofficial, "stress_detect", "result of stress detection", "压力检测结果"},
	{101, 101, unofficial, "wait", "has to wait", "需要等待"},
	{1000, 1004, unofficial, "hccl", "error of collective communication (HCCL)", "集合通信(HCCL)错误"},
	{11001, 11001, unofficial, "engine_parameter", "engine: bad parameter", "AICPU 引擎：参数错误"},
	{11002, 11002, unofficial, "engine_open_so", "engine: shared library cannot be opened", "AICPU 引擎：打开动态库失败"},
	{11003, 11003, unofficial, "engine_symbol", "engine: kernel function is missing from the library", "AICPU 引擎：动态库中找不到算子函数"},
	{11004, 11004, unofficial, "engine_api_parameter", "engine: bad parameter of a kernel interface", "AICPU 引擎：算子接口参数错误"},
	{11005, 11005, unofficial, "engine_api_inner", "engine: internal error in a kernel interface", "AICPU 引擎：算子接口内部错误"},
	{11006, 11006, unofficial, "engine_inner", "engine: internal error", "AICPU 引擎：内部错误"},
	{21001, 21001, unofficial, "scheduler_parameter", "scheduler: bad parameter", "AICPU 调度：参数错误"},
	{21002, 21002, unofficial, "scheduler_dump", "scheduler: dump failed", "AICPU 调度：dump 失败"},
	{21003, 21003, unofficial, "scheduler_driver", "scheduler: driver error", "AICPU 调度：驱动错误"},
	{21004, 21004, unofficial, "scheduler_toolchain", "scheduler: error of the tool chain", "AICPU 调度：工具链错误"},
	{21005, 21005, unofficial, "scheduler_task_not_found", "scheduler: logical task not found", "AICPU 调度：找不到逻辑任务"},
	{21006, 21006, unofficial, "scheduler_execution", "scheduler: task execution failed", "AICPU 调度：任务执行失败"},
	{21007, 21007, unofficial, "scheduler_timeout", "scheduler: task execution timed out", "AICPU 调度：任务执行超时"},
	{21008, 21008, unofficial, "scheduler_inner", "scheduler: internal error", "AICPU 调度：内部错误"},
	{21100, 21104, unofficial, "model", "error of model execution", "模型执行错误"},
	{21200, 21200, unofficial, "reserved", "reserved code", "保留错误码"},
	{22001, 22007, unofficial, "custom", "error of a custom AI CPU operator", "自定义 AICPU 算子错误"},
	{22200, 22200, unofficial, "custom_other", "error of a custom AI CPU operator (22200)", "自定义 AICPU 算子错误(22200)"},
}
