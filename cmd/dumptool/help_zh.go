package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// chineseSummaries are the summaries of the commands in Chinese, by their words.
var chineseSummaries = map[string]string{
	"":                       "调试 NPU 上的数值精度",
	"convert":                "把设备 dump 转换为主机文件",
	"convert merge":          "由 convert 各分片的结果列出失败",
	"inspect":                "查看 dump 文件和 .npy 数组的内容",
	"find":                   "由脚本行、算子、参数或 dump 文件互相查找",
	"overflow":               "找出哪里溢出，以及原因",
	"overflow decode":        "把溢出记录转换为 JSON",
	"overflow status":        "解释状态字和错误寄存器",
	"overflow analyze":       "找出首个溢出的算子，以及原因",
	"overflow scan":          "在普通 dump 中查找 NaN、无穷和饱和值",
	"overflow analyze merge": "由各分片的结果生成 overflow analyze 的报告",
	"overflow scan merge":    "由各分片的结果生成 overflow scan 的报告",
	"overflow watch":         "找出是谁改写了被监视算子的内存",
	"compare":                "把 NPU 张量与标杆数据比对",
	"compare detail":         "查看一个算子的张量",
	"compare determinism":    "检查同一网络的多次运行是否逐位一致",
	"compare judge":          "按证据或其他门限重新判定已完成的比对",
	"compare merge":          "由各分片的结果生成比对报告",
	"merge":                  "由各分片或各机器的结果生成一份报告",
	"report":                 "由已有结果重新生成页面和图",
	"hpaa":                   "HPAA 的 NPU 侧：由原始分片得到张量",
	"hpaa import":            "把 HPAA 的原始分片拼接为张量",
	"run-npu-data-analysis":  "把 HPAA 的原始分片拼接为张量",
	"perf":                   "算子的周期花在哪里，与基线相比有何变化",
	"config":                 "编写、检查和解释 dump 配置",
	"config new":             "按用途生成 dump 配置",
	"config check":           "找出 dump 配置中的错误",
	"config explain":         "说明 dump 配置的作用",
	"config convert":         "为另一运行时改写 dump 配置",
	"cluster":                "在多台机器上分片完成一条命令的工作",
	"cluster slurm":          "打印把工作提交给 Slurm 的脚本",
	"cluster kubernetes":     "打印在 Kubernetes 上完成工作的 Job",
	"cluster volcano":        "打印在 Volcano 上完成工作的 job",
	"cluster local":          "以本机的多个进程分片完成工作",
	"version":                "打印 dumptool 的版本",
	"completion":             "打印 shell 的补全脚本",
	"help":                   "打印命令的帮助",
}

// summariseInChinese gives a command and those below it their summaries in Chinese.
func summariseInChinese(cmd *cobra.Command) {
	if short := chineseSummaries[strings.Join(commandPath(cmd), " ")]; short != "" {
		cmd.Short = short
	}
	for _, sub := range cmd.Commands() {
		summariseInChinese(sub)
	}
}
