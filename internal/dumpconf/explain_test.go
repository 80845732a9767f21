package dumpconf

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// explained lists required and forbidden parts of an explanation.
type explained struct {
	text     string
	target   string
	opt      Options
	inactive bool
	patterns []string
	en, zh   []string // "section: part of a line"
	commands []string // parts of all commands, in order; nil is not checked
	not      []string
}

func sample(t *testing.T, name string) string {
	t.Helper()
	return string(readSample(t, filepath.Join("testdata/samples", name)))
}

const opName = "{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}"

func aclExplained(t *testing.T) map[string]explained {
	t.Helper()
	model := "$HOME/output/{time}/{device_id}/"
	return map[string]explained{
		"model sample": {
			text:     sample(t, "aclmdlsetdump_model.json"),
			patterns: []string{model + "ResNet-101/{model_id}/{data_index}/" + opName, model + "ResNet-50/{model_id}/{data_index}/" + opName},
			en: []string{"what: model dump: tensors of the outputs", "which: model ResNet-101: all operators",
				"which: model ResNet-50: operators conv1conv1_relu, res2a_branch2ares2a_branch2a_relu, res2a_branch1, pool1",
				"which: every step", `where: "$HOME/output" is used literally`, "format: binary dump files", "environment: NPU_COLLECT_PATH must not", "care: large"},
			zh:       []string{"what: 输出的张量", "which: 模型 ResNet-50：算子 conv1conv1_relu", "which: 所有迭代", "where: 不会展开"},
			commands: []string{"dumptool inspect --stats '$HOME/output'", "dumptool convert -d '$HOME/output' -out out -f NCHW", "dumptool compare --cpu GOLDEN --npu '$HOME/output'", "dumptool overflow scan '$HOME/output'"},
			not:      []string{"single-operator"},
		},
		"op sample": {
			text: sample(t, "aclmdlsetdump_op.json"), patterns: []string{"output/{time}/{device_id}/" + opName},
			en:  []string{"what: single-operator dump: tensors of the outputs", `where: "output" is relative`},
			zh:  []string{"what: 单算子 dump", "where: 工作目录"},
			not: []string{"model dump"},
		},
		"exception sample": {
			text:     sample(t, "aclmdlsetdump_exception.json"),
			patterns: []string{"./extra-info/data-dump/{device_id}/exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}"},
			en:       []string{"what: exception dump, brief", "where: ASCEND_DUMP_PATH, NPU_COLLECT_PATH, ASCEND_WORK_PATH and dump_path", "care: lite_exception", "environment: ASCEND_DUMP_SCENE"},
			zh:       []string{"what: 异常 dump（精简）", "care: 旧名称"},
			not:      []string{"model dump", "overflow dump"},
		},
		"overflow sample": {
			text: sample(t, "aclmdlsetdump_overflow.json"),
			patterns: []string{"output/{time}/{device_id}/{model_name}/{model_id}/{data_index}/" + opName,
				"output/{time}/{device_id}/{model_name}/{model_id}/{data_index}/Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"},
			en:       []string{"what: overflow dump", "which: only operators that overflow", "care: --status_check=1"},
			zh:       []string{"what: 溢出 dump"},
			commands: []string{"dumptool overflow analyze -d output", "dumptool overflow decode --extended output"},
		},
		"watcher sample": {
			text: sample(t, "aclmdlsetdump_watcher.json"),
			patterns: []string{
				"/home/{time}/{device_id}/{model_name}/{model_id}/{data_index}/{op_type of C}.A_To_C.{task_id}.{stream_id}.{timestamp}",
				"/home/{time}/{device_id}/{model_name}/{model_id}/{data_index}/{op_type of D}.A_To_D.{task_id}.{stream_id}.{timestamp}",
				"/home/{time}/{device_id}/{model_name}/{model_id}/{data_index}/{op_type of C}.B_To_C.{task_id}.{stream_id}.{timestamp}",
				"/home/{time}/{device_id}/{model_name}/{model_id}/{data_index}/{op_type of D}.B_To_D.{task_id}.{stream_id}.{timestamp}"},
			en: []string{"what: watcher", "which: outputs of C, D, looked at after operators A, B", "care: static graphs"},
			zh: []string{"which: C, D 的输出"}, commands: []string{"dumptool overflow watch /home", "dumptool inspect --stats /home", "dumptool convert -d /home/ -out out -f NCHW"},
		},
		"broken sample": {
			text: sample(t, "pytorch_acl.json"), patterns: []string{"./output_IR2TBE/{time}/{device_id}/" + opName},
			en: []string{"what: has errors (4)", "what: 4:27 (EP0004)", "what: single-operator dump: tensors of the inputs and outputs"},
			zh: []string{"what: 4 个错误"},
		},
		"statistics": {
			text: `{"dump":{"dump_path":"/data/npu_dump","dump_mode":"all","dump_level":"op","dump_data":"stats","dump_stats":["Max","L2norm"],"dump_step":"0|3-5",
 "dump_list":[{"model_name":"yolo.a"},{"model_name":"yolo_b","layer":["stem/conv"],"opname_blacklist":[{"name":"head","pos":["input1"]}],"opname_range":[{"begin":"p","end":"q"}]}]}}`,
			patterns: []string{"/data/npu_dump/{time}/{device_id}/yolo_a/{model_id}/{data_index}/" + opName + ".csv",
				"/data/npu_dump/{time}/{device_id}/yolo_b/{model_id}/{data_index}/{op_type}.stem_conv.{task_id}.{stream_id}.{timestamp}.csv"},
			en: []string{"what: statistics of the inputs and outputs", "which: model yolo_b: not operators head (input1)", "which: from p to q",
				"which: steps 0, 3-5", "which: operators of the graph, not the aclnn kernels", "format: CSV", "format: Max, L2norm", "read: CSV files are plain text"},
			zh:       []string{"what: 输入和输出的统计信息", "which: 迭代 0, 3-5"},
			commands: []string{"dumptool overflow scan /data/npu_dump", "dumptool compare --cpu GOLDEN --npu /data/npu_dump -out report"},
		},
		"exception with more": {
			text:     `{"dump":{"dump_scene":"aic_err_norm_dump","dump_path":"/d/",` + "\n" + `"dump_mode":"all","dump_step":"9-3"}}`,
			patterns: []string{"/d/extra-info/data-dump/{device_id}/" + opName},
			en:       []string{"what: exception dump, normal", "ignored: dump.dump_mode (line 2): not used in an exception scene", "ignored: dump.dump_step"},
			zh:       []string{"ignored: dump.dump_mode（第 2 行）：异常 dump 场景下不生效"},
		},
		"exception and environment": {
			text: `{"dump":{"dump_scene":"aic_err_detail_dump","dump_path":"/d"}}`, opt: Options{Env: env("ASCEND_WORK_PATH=/w", "ASCEND_DUMP_PATH=/a")},
			patterns: []string{"/a/extra-info/data-dump/{device_id}/*.{stream_id}.{task_id}.{timestamp}.core"},
			en:       []string{"where: ASCEND_DUMP_PATH is set", "read: msDebug", "care: 25.0.RC1", "ignored: dump.dump_path"},
		},
		"filters that the target ignores": {
			text: acl(`"dump_list":[{}],"dump_step":"0","dump_data":"stats","dump_level":"op"`), target: "6.0",
			patterns: []string{"/d/{time}/{device_id}/{model_name}/{model_id}/{data_index}/" + opName},
			en: []string{"what: tensors of the outputs", "which: every step", "format: binary dump files", "ignored: dump.dump_step (line 1): not supported",
				"ignored: dump.dump_data (line 1): not supported", "ignored: dump.dump_level (line 1): not supported"},
			not: []string{"statistics of", "not the aclnn", "first, then"},
		},
		"overflow that the target ignores": {
			text: acl(`"dump_debug":"on","dump_mode":"all"`), target: "6.0", inactive: true,
			en:  []string{"what: nothing: version 6.0 does not support dump_debug", "ignored: dump.dump_debug (line 1): not supported"},
			not: []string{"overflow dump", `while dump_debug`},
		},
		"exception that the target ignores": {
			text: acl(`"dump_scene":"lite_exception","dump_mode":"all"`), target: "7.0", inactive: true,
			en:  []string{"what: nothing: version 7.0 does not support dump_scene"},
			not: []string{"exception dump", "exception scene"},
		},
		"scene that the target does not know": {
			text: acl(`"dump_scene":"aic_err_norm_dump"`), target: "8.0", inactive: true, en: []string{"what: nothing: version 8.0 does not support dump_scene"},
		},
		"candidate of the release": {
			text: acl(`"dump_list":[{}],"dump_data":"stats"`), target: "7.0.RC1",
			patterns: []string{"/d/{time}/{device_id}/{model_name}/{model_id}/{data_index}/" + opName + ".csv"}, en: []string{"what: statistics of the outputs"},
		},
		"switched off and newer": {text: acl(`"dump_debug":"off"`), target: "6.0", inactive: true, en: []string{"what: nothing: no dump_list"}},
		"blacklist that the target ignores": {
			text: listed(`{"model_name":"m","opname_blacklist":[{"name":"q"}]}`, `"dump_level":"op"`), target: "8.0",
			patterns: []string{"/d/{time}/{device_id}/m/{model_id}/{data_index}/" + opName},
			en:       []string{"ignored: opname_blacklist"}, not: []string{"not operators q"},
		},
		"scene of the environment": {
			text: `{"dump":{"dump_scene":"lite_exception"}}`, opt: Options{Env: env("ASCEND_DUMP_SCENE=aic_err_norm_dump", "NPU_COLLECT_PATH=/c")},
			patterns: []string{"/c/extra-info/data-dump/{device_id}/{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}"},
			en:       []string{"what: exception dump, normal", "environment: ASCEND_DUMP_SCENE is set and determines how much"},
			not:      []string{"brief:", "older name"},
		},
		"first scene of the environment": {
			text: `{"dump":{"dump_scene":"aic_err_norm_dump"}}`, opt: Options{Env: env("ASCEND_DUMP_SCENE=aic_err_brief_dump", "NPU_COLLECT_PATH=/c")},
			patterns: []string{"/c/extra-info/data-dump/{device_id}/exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}"},
			en:       []string{"what: exception dump, brief"},
		},
		"collect path and exception": {
			text: `{"dump":{"dump_scene":"aic_err_brief_dump"}}`, opt: Options{Env: env("NPU_COLLECT_PATH=/c")},
			patterns: []string{"/c/extra-info/data-dump/{device_id}/{op_type}.{op_name}.{task_id}.{stream_id}.{timestamp}"},
			en:       []string{"what: exception dump, normal", "environment: NPU_COLLECT_PATH is set and determines how much"},
		},
		"scene of the environment only": {
			text: `{"dump":{"dump_path":"/d"}}`, opt: Options{Env: env("ASCEND_DUMP_SCENE=aic_err_brief_dump")},
			patterns: []string{"/d/extra-info/data-dump/{device_id}/exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}"},
			en:       []string{"what: nothing by the file itself", "what: exception dump, brief"},
		},
		"scene of the environment, older release": {
			text: `{"dump":{"dump_path":"/d"}}`, target: "8.0", opt: Options{Env: env("ASCEND_DUMP_SCENE=aic_err_brief_dump")}, inactive: true,
			en: []string{"what: nothing: no dump_list"},
		},
		"models and a scene of the environment": {
			text: listed(`{}`), opt: Options{Env: env("ASCEND_DUMP_SCENE=aic_err_brief_dump")},
			patterns: []string{"/d/{time}/{device_id}/{model_name}/{model_id}/{data_index}/" + opName},
			en:       []string{"what: model dump", "environment: operators that fail are dumped as well", "format: one an operator, with outputs in device layout"},
			not:      []string{"with inputs and outputs"},
		},
		"overflow with more": {
			text: `{"dump":{"dump_path":"/d","dump_debug":"on","dump_data":"stats"}}`,
			en:   []string{`ignored: dump.dump_data (line 1): no effect while dump_debug is "on"`},
			patterns: []string{"/d/{time}/{device_id}/{model_name}/{model_id}/{data_index}/" + opName,
				"/d/{time}/{device_id}/{model_name}/{model_id}/{data_index}/Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"},
		},
		"models and single operators": {
			text: `{"dump":{"dump_path":"192.168.0.1:/d","dump_op_switch":"on","dump_list":[{}]}}`,
			patterns: []string{"/d/{time}/{device_id}/{model_name}/{model_id}/{data_index}/" + opName,
				"/d/{time}/{device_id}/" + opName},
			en:       []string{"what: model dump", "what: single-operator dump", "which: every model: all operators", "where: on the host 192.168.0.1"},
			commands: []string{"--stats /d", "-d /d", "--npu /d", "scan /d"},
		},
		"kernel data": {
			text: `{"dump":{"dump_path":"/d","dump_kernel_data":"printf,assert"}}`, patterns: []string{"/d/[printf/]{time}/asc_kernel_data_{aic|aiv|simt}_{core}.bin"},
			en: []string{"what: printf,assert", "environment: ASCEND_DUMP_PATH, then ASCEND_WORK_PATH"}, commands: []string{},
		},
		"kernel data and environment": {
			text: `{"dump":{"dump_path":"/d","dump_kernel_data":"all"}}`, opt: Options{Env: env("ASCEND_WORK_PATH=/w")},
			patterns: []string{"/w/[printf/]{time}/asc_kernel_data_{aic|aiv|simt}_{core}.bin"},
		},
		"unusual characters": {
			text:     `{"dump":{"dump_path":"/d\u0007d","dump_level":"op","dump_list":[{"model_name":"a b","optype_blacklist":[{"name":""},{"pos":["input_0"],"name":"T"}]}]}}`,
			patterns: []string{"/d?d/{time}/{device_id}/a_b/{model_id}/{data_index}/" + opName},
			en:       []string{"which: model a b: not operators of type T", "ignored: optype_blacklist[0].name (line 1): a blacklist entry without name", "ignored: does not understand this position"},
			commands: []string{`inspect --stats "$(printf '/d\007d')"`, "", "", ""},
		},
		"collect path": {
			text: `{"dump":{"dump_path":"/d","dump_list":[{}]}}`, opt: Options{Env: env("NPU_COLLECT_PATH=/c")},
			patterns: []string{"/d/{time}/{device_id}/{model_name}/{model_id}/{data_index}/" + opName},
			en:       []string{"environment: NPU_COLLECT_PATH=/c is set", "what: E10056"},
		},
		"profiler and unknown key": {
			text:     `{"profiler":{"switch":"on"},"dump":{"dump_path":"/d","dump_list":[{"model_name":"a"},{}],"dump_moed":"all"}}`,
			patterns: []string{"/d/{time}/{device_id}/a/{model_id}/{data_index}/" + opName, "/d/{time}/{device_id}/{model_name}/{model_id}/{data_index}/" + opName},
			en:       []string{"care: profiler", "care: applies to all models", "ignored: dump.dump_moed (line 1): unknown key"},
		},
		"path only":  {text: `{"dump":{"dump_path":"/d"}}`, inactive: true, en: []string{"what: nothing: no dump_list"}, zh: []string{"what: 不 dump"}},
		"empty list": {text: `{"dump":{"dump_path":"/d","dump_list":[]}}`, inactive: true, en: []string{"what: nothing: dump_list is empty"}},
		"empty dump": {text: `{"dump":{}}`, inactive: true, en: []string{`what: nothing: "dump" is empty`}},
		"no dump":    {text: `{}`, inactive: true, en: []string{`what: nothing: there is no "dump"`}},
		"other tool": {text: `{"task":"x","level":"y","dump_path":"/d"}`, inactive: true, en: []string{"what: nothing: msprobe does not support the task", "what: has errors"}, zh: []string{"what: msprobe"}},
		"msprobe, statistics": {
			text:     `{"task":"statistics","dump_path":"/d","rank":[0,"4-6"],"step":[0,"3-5"],"level":"L1","statistics":{"list":["relu"],"data_mode":["forward","input"],"summary_mode":"md5","tensor_list":["conv"]}}`,
			patterns: []string{"/d/step{step}/rank{rank}/dump.json", "/d/step{step}/rank{rank}/dump_tensor_data/{name}.{input|output}.{n}.{pt|npy}"},
			en: []string{"what: dump by msprobe: statistics of the inputs", "which: calls of the framework", "which: the forward pass only", "which: relu (list)", "which: conv (tensor_list)",
				"which: steps 0, 3-5", "which: ranks 0, 4-6", "care: digests", "read: with \"task\": \"tensor\", \"data_mode\": [\"all\"] 'dumptool check'"},
			zh:       []string{"which: rank 0, 4-6"},
			commands: []string{"dumptool overflow scan /d", "dumptool compare --cpu GOLDEN --npu /d -out report"},
		},
		"msprobe, tensors": {
			text:     `{"task":"tensor","dump_path":"/d","level":"mix","tensor":{"scope":["a","b"],"data_mode":["all"]}}`,
			patterns: []string{"/d/step{step}/rank{rank}/dump.json", "/d/step{step}/rank{rank}/dump_tensor_data/{name}.{input|output}.{n}.{pt|npy}"},
			en:       []string{"what: tensors and their statistics of the inputs and outputs", "which: from a to b", "which: every rank", "environment: PrecisionDebugger", "care: risk_level"},
			commands: []string{"dumptool check /d", "dumptool inspect --stats /d", "dumptool compare --cpu GOLDEN --npu /d", "dumptool overflow scan /d"},
			not:      []string{"only be compared"},
		},
		"msprobe, everything": {
			text: `{"task":"tensor","dump_path":"/d","level":"L2","tensor":{"scope":["a"],"data_mode":["backward"]}}`,
			en:   []string{"which: kernels", "which: the backward pass only", "which: scope has to have two names"},
		},
		"msprobe, structure": {text: `{"task":"structure","dump_path":"/d","level":"L0"}`, en: []string{"what: task structure", "which: modules (level L0)"}},
		"msprobe, off": {text: `{"task":"tensor","dump_path":"/d","level":"debug","dump_enable":false}`, inactive: true,
			patterns: []string{"/d/step{step}/rank{rank}/dump.json", "/d/step{step}/rank{rank}/dump_tensor_data/{name}.{input|output}.{n}.{pt|npy}"}, en: []string{"what: nothing until dump_enable", "care: tensors of all calls are large"}},
		"no JSON at all": {text: `hello`, inactive: true, en: []string{"what: has errors"}},
	}
}

func otherExplained(t *testing.T) map[string]explained {
	t.Helper()
	rank := "/absolute_path/rank_{rank_id}/ResNet50/{graph_id}/{iteration}/"
	const npy = ".{input|output}.{slot}.{format}"
	steps := "/absolute_path/{step_id}/{time}/{device_id}/{model_name}/{model_id}/{iteration_id}/"
	return map[string]explained{
		"async sample": {
			text: sample(t, "mindspore_async.json"), patterns: []string{rank + opName, steps + opName},
			en: []string{"what: ordinary dump: tensors of the inputs and outputs", "what: written by the device", "which: all operators", "which: steps 0,",
				"which: devices 0, 1, 2, 3, 4, 5, 6, 7", "where: from 2.6 on nothing", "ignored: common_dump_settings.kernels (line 8): used with dump_mode 1 only",
				"environment: MINDSPORE_DUMP_CONFIG", "format: binary dump files"},
			zh: []string{"what: 由设备异步写出", "ignored: 仅 dump_mode 为 1 时生效", "which: 设备 0, 1, 2, 3, 4, 5, 6, 7"},
		},
		"async sample, 1.2": {text: sample(t, "mindspore_async.json"), target: "1.2",
			patterns: []string{"/absolute_path/{device_id}/ResNet50_graph_{graph_id}/{graph_id}/{iteration}/" + opName}},
		"async sample, 2.0": {text: sample(t, "mindspore_async.json"), target: "2.0", patterns: []string{rank + opName}},
		"async sample, 2.4": {text: sample(t, "mindspore_async.json"), target: "2.4", patterns: []string{steps + opName}},
		"async sample, ms_backend": {text: sample(t, "mindspore_async.json"), opt: Options{Backend: "ms_backend"}, inactive: true,
			en: []string{"what: nothing: this backend"}, zh: []string{"what: 不 dump"}},
		"async sample, 2.6": {text: sample(t, "mindspore_async.json"), target: "2.6", inactive: true, en: []string{"what: nothing: this release"}},
		"framework, O2": {text: e2e(`"enable":true`), opt: Options{Backend: "O2"}, inactive: true,
			en: []string{"what: nothing: since version 2.6"}, zh: []string{"what: 不 dump"}, not: []string{"synchronously"}},
		"framework, O2, 2.4": {text: e2e(`"enable":true`), target: "2.4", opt: Options{Backend: "O2"}, inactive: true,
			en: []string{"what: nothing: jit_level O2 and the graph engine do not support"}, not: []string{"synchronously"}},
		"dynamic graphs": {text: e2e(`"enable":true`), opt: Options{Backend: "pynative"}, inactive: true, en: []string{"what: use msprobe"}},
		"common settings newer than 1.3": {text: common(`"saved_data":"statistic"`, `"file_format":"npy"`), target: "1.3",
			patterns: []string{"/d/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName},
			en:       []string{"what: tensors of the inputs and outputs", "ignored: common_dump_settings.saved_data (line 1): not supported"}, not: []string{"O2", "statistic.csv"}},
		"on CPU": {text: e2e(`"enable":true`, `"support_device":[0,1]`), opt: Options{SoC: "cpu"},
			patterns: []string{"/d/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName + npy + ".{dtype}.npy"},
			en:       []string{"ignored: support_device (line 1): not used on CPU"}, not: []string{"others do not dump"}},
		"kernels and overflow": {text: e2e(`"enable":true`, `"op_debug_mode":3`, `"dump_mode":1`, `"kernels":["Conv2D"]`),
			patterns: []string{"/d/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName + npy + ".{dtype}.npy", "/d/rank_{rank_id}/debug_files/{iteration}/Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"},
			en:       []string{"ignored: common_dump_settings.kernels (line 1): not used while op_debug_mode"}},
		"switched off, 1.1": {text: e2e(`"enable":false,"trans_flag":true`), target: "1.1", inactive: true, en: []string{"what: nothing: neither"}},
		"by the device, 2.0": {text: e2e(`"enable":false,"trans_flag":true`), target: "2.0", patterns: []string{"/d/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName},
			en: []string{"what: written by the device"}},
		"overflow, 1.1": {text: `{` + commonBlock([]string{`"op_debug_mode":`}) + `,"async_dump_settings":{"enable":true,"op_debug_mode":3}}`, target: "1.1",
			patterns: []string{"/d/{device_id}/Net_graph_{graph_id}/{graph_id}/{iteration}/" + opName}, en: []string{"what: overflow dump"}},
		"sync sample": {
			text: sample(t, "mindspore_sync.json"), patterns: []string{rank + opName + npy + ".{dtype}.npy"},
			en:       []string{"what: written by the framework, synchronously", "format: .npy arrays", "environment: dataset_sink_mode=False"},
			zh:       []string{"what: 由框架同步写出"},
			commands: []string{"dumptool check /absolute_path", "inspect --stats /absolute_path", "compare --cpu GOLDEN --npu /absolute_path", "overflow scan /absolute_path"},
		},
		"sync sample, 2.3": {text: sample(t, "mindspore_sync.json"), target: "2.3", patterns: []string{rank + opName + npy + ".npy"}},
		"sync sample, 1.1": {text: sample(t, "mindspore_sync.json"), target: "1.1",
			patterns: []string{"/absolute_path/ResNet50/{device_id}/iteration_{iteration}/{op_name}_{input|output}_{slot}_shape_{d}_{d}_{dtype}_{format}.bin"},
			en:       []string{"format: numpy.fromfile"}},
		"statistics": {
			text: e2e(`"enable":false,"save_kernel_args":true`, `"saved_data":"statistic"`, `"statistic_category":["max","nan count"]`, `"iteration":"0|10-12"`, `"dump_mode":1`,
				`"kernels":["Conv2D","Default/Conv2D-op12","name-regex(.*relu.*)"]`, `"input_output":2`),
			patterns: []string{"/d/rank_{rank_id}/Net/{graph_id}/{iteration}/statistic.csv", "/d/rank_{rank_id}/Net/{graph_id}/{iteration}/{op_type}.{op_name}.json"},
			en: []string{"what: statistics of the outputs", "what: asynchronously: enable is not true", "which: whose type contains, in any case: Conv2D",
				"which: exactly these names: Default/Conv2D-op12", "which: full name matches: .*relu.*", "which: steps 0, 10-12", "format: max, nan count"},
			commands: []string{"dumptool overflow scan /d", "dumptool compare --cpu GOLDEN --npu /d -out report"},
		},
		"full, outputs": {
			text:     e2e(`"enable":true,"sample_mode":1,"sample_num":7`, `"saved_data":"full"`, `"input_output":1`, `"iteration":"all"`),
			patterns: []string{"/d/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName + ".input.{slot}.{format}.{dtype}.npy", "/d/rank_{rank_id}/Net/{graph_id}/{iteration}/statistic.csv"},
			en:       []string{"what: tensors and their statistics of the inputs", "which: every step", "which: head and tail (sample_num 7)"},
		},
		"overflow": {
			text: common(`"op_debug_mode":3`, `"file_format":"npy"`, `"overflow_number":5`, `"input_output":1`, `"dump_mode":1`), target: "2.4",
			patterns: []string{"/d/{step_id}/{time}/{device_id}/{model_name}/{model_id}/{iteration_id}/" + opName + npy + ".{dtype}.npy",
				"/d/{step_id}/{time}/{device_id}/{model_name}/{model_id}/{iteration_id}/Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}.output.0.json"},
			en: []string{"what: overflow dump", "what: at most 5", "ignored: common_dump_settings.dump_mode", "ignored: common_dump_settings.input_output (line 1): forced to 0"},
		},
		"overflow by the framework": {
			text:     e2e(`"enable":true`, `"op_debug_mode":3`),
			patterns: []string{"/d/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName + npy + ".{dtype}.npy", "/d/rank_{rank_id}/debug_files/{iteration}/Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"},
			en:       []string{"what: overflow dump"},
		},
		"exception": {
			text: common(`"op_debug_mode":4`), target: "2.4", patterns: []string{"/d/{step_id}/extra-info/data-dump/{device_id}/exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}"},
			en: []string{"what: exception dump", "which: every step", "ignored: common_dump_settings.iteration"},
		},
		"path of the environment": {
			text: e2e(`"enable":true`, `"path":`), opt: Options{Env: env("MS_DIAGNOSTIC_DATA_PATH=/diag/")},
			patterns: []string{"/diag/debug_dump/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName + npy + ".{dtype}.npy"},
			en:       []string{"where: MS_DIAGNOSTIC_DATA_PATH"},
		},
		"path unknown": {
			text:     e2e(`"enable":true`, `"path":`),
			patterns: []string{"$MS_DIAGNOSTIC_DATA_PATH/debug_dump/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName + npy + ".{dtype}.npy"},
			commands: []string{`"$MS_DIAGNOSTIC_DATA_PATH/debug_dump"`, `"$MS_DIAGNOSTIC_DATA_PATH/debug_dump"`, `"$MS_DIAGNOSTIC_DATA_PATH/debug_dump"`, `"$MS_DIAGNOSTIC_DATA_PATH/debug_dump"`},
		},
		"no devices":     {text: e2e(`"enable":true`, `"support_device":[]`), inactive: true, en: []string{"what: nothing: support_device is empty"}},
		"no step":        {text: e2e(`"enable":true`, `"iteration":"5-"`), en: []string{"which: no step"}, zh: []string{"which: 不匹配任何迭代"}, patterns: []string{"/d/rank_{rank_id}/Net/{graph_id}/{iteration}/" + opName + npy + ".{dtype}.npy"}},
		"common missing": {text: `{"e2e_dump_settings":{}}`, inactive: true, en: []string{"what: nothing: there is no common_dump_settings"}},
		"graph engine": {
			text:     `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpStep":"0|3-5","ge.exec.dumpMode":"all","ge.exec.dumpLayer":"a/b"}`,
			patterns: []string{"/d/{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}/{op_type}.a_b.{task_id}.{stream_id}.{timestamp}"},
			en:       []string{"what: graph dump: tensors of the inputs and outputs", "which: operators a/b", "which: steps 0, 3-5", "environment: ACL runtime overrides", "environment: E10056"},
			zh:       []string{"what: 图 dump"},
		},
		"graph engine, statistics": {
			text:     `{"ge.exec.enableDump":"1","ge.exec.dumpPath":"/d","ge.exec.dumpData":"stats","ge.exec.dumpStep":"None"}`,
			patterns: []string{"/d/{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}/" + opName + ".csv"},
			en:       []string{"what: statistics of the outputs", "which: all operators", "which: every step"},
			commands: []string{"dumptool overflow scan /d", "dumptool compare --cpu GOLDEN --npu /d -out report"},
		},
		"graph engine, overflow": {
			text: `{"ge.exec.enableDumpDebug":"1","ge.exec.dumpPath":"/d","ge.exec.dumpDebugMode":"all"}`,
			patterns: []string{"/d/{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}/" + opName,
				"/d/{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}/Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"},
			en: []string{"what: overflow dump (all)"},
		},
		"graph engine, no debug mode": {text: `{"ge.exec.enableDumpDebug":"1","ge.exec.dumpPath":"/d"}`, inactive: true,
			en: []string{"what: no effect without ge.exec.dumpDebugMode", "ignored: enableDumpDebug"}},
		"graph engine, exception": {
			text: `{"ge.exec.enable_exception_dump":"2"}`, opt: Options{Env: env("ASCEND_DUMP_PATH=/a", "NPU_COLLECT_PATH=/c")},
			patterns: []string{"/c/extra-info/data-dump/{device_id}/exception_info.{stream_id}.{task_id}.{YYYYMMDDHHMMSSmmm}"},
			en:       []string{"what: exception dump, brief"},
		},
		"graph engine, bad debug mode": {
			text: `{"ge.exec.enableDumpDebug":"1","ge.exec.dumpPath":"/d","ge.exec.dumpDebugMode":"x"}`,
			patterns: []string{"/d/{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}/" + opName,
				"/d/{time}/{device_id}/ge_default_{timestamp}_{n}/{model_id}/{data_index}/Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"},
			en: []string{"what: has errors (1)", "what: E10001"}, not: []string{"work together only"},
		},
		"graph engine, off": {text: `{"ge.exec.enableDump":"0"}`, inactive: true, en: []string{"what: nothing: no dump"}},
		"adapter": {
			text: `{"enable_dump_debug":true,"dump_path":"/d"}`,
			patterns: []string{"/d/{time}/{device_id}/{graph_name}/{model_id}/{data_index}/" + opName,
				"/d/{time}/{device_id}/{graph_name}/{model_id}/{data_index}/Opdebug.Node_OpDebug.{task_id}.{stream_id}.{timestamp}"},
			en:  []string{"what: overflow dump (all)", "environment: DumpConfig"},
			not: []string{"ATC"},
		},
	}
}

func TestExplain(t *testing.T) {
	for _, cases := range []map[string]explained{aclExplained(t), otherExplained(t)} {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) { checkExplained(t, c) })
		}
	}
}

func checkExplained(t *testing.T, c explained) {
	t.Helper()
	c.opt.TargetVersion = version(t, c.target)
	e := Explain(Check("", []byte(c.text), c.opt), c.opt)
	if e.Active == c.inactive {
		t.Errorf("active %v", e.Active)
	}
	if diff := cmp.Diff(c.patterns, e.Patterns); diff != "" {
		t.Errorf("patterns (-want +got):\n%s", diff)
	}
	if c.commands != nil && len(c.commands) != len(e.Commands) {
		t.Errorf("commands %q, want %q", e.Commands, c.commands)
	}
	for i, want := range c.commands[:min(len(c.commands), len(e.Commands))] {
		if !strings.Contains(e.Commands[i], want) {
			t.Errorf("command %q, want %q in it", e.Commands[i], want)
		}
	}
	inEN := func(x Text) string { return x.String() }
	inZH := func(x Text) string { return x.Chinese() }
	for _, w := range c.en {
		if !says(e, w, inEN) {
			t.Errorf("does not say %q in %+v", w, e.Sections)
		}
	}
	for _, w := range c.zh {
		if !says(e, w, inZH) {
			t.Errorf("does not say %q in %+v", w, e.Sections)
		}
	}
	for _, s := range e.Sections {
		for _, l := range s.Lines {
			checkText(t, l)
			for _, n := range c.not {
				if strings.Contains(l.String(), n) {
					t.Errorf("says %q", l.String())
				}
			}
		}
	}
}

// says reports whether a section has a line with a part, written
// "section: part".
func says(e *Explanation, want string, in func(Text) string) bool {
	name, part, _ := strings.Cut(want, ": ")
	for _, s := range e.Sections {
		for _, l := range s.Lines {
			if s.Name == name && strings.Contains(in(l), part) {
				return true
			}
		}
	}
	return false
}

// TestExplainIsBounded explains files with a great many names.
func TestExplainIsBounded(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`"a_long_name_of_an_operator",`, 5000), ",")
	for name, text := range map[string]string{
		"layers":  listed(`{"layer":[` + many + `]}`),
		"items":   listed(strings.TrimSuffix(strings.Repeat(`{"layer":["x"]},`, 5000), ",")),
		"watched": listed(`{"layer":[`+many+`],"watcher_nodes":[`+many+`]}`, `"dump_scene":"watcher"`),
		"kernels": common(`"dump_mode":1`, `"kernels":[`+many+`]`),
		"devices": common(`"support_device":[` + strings.TrimSuffix(strings.Repeat("1,", 5000), ",") + `]`),
		"ranges":  listed(`{"model_name":"m","opname_range":[`+strings.TrimSuffix(strings.Repeat(`{"begin":"a","end":"b"},`, 5000), ",")+`]}`, `"dump_level":"op"`),
	} {
		e := Explain(Check("", []byte(text), Options{}), Options{})
		size := 0
		for _, s := range e.Sections {
			for _, l := range s.Lines {
				size += len(l.String()) + len(l.Chinese())
			}
		}
		if size > 64<<10 || !e.Active {
			t.Errorf("%s: %d bytes, active %v", name, size, e.Active)
		}
	}
}
