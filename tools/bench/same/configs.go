package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// goodConfigs are configurations of all schemas; made ones are these with a few
// bytes changed.
var goodConfigs = []string{
	`{"dump": {"dump_path": "/tmp", "dump_mode": "all", "dump_op_switch": "on", "dump_step": "0|3-5",
  "dump_list": [{"model_name": "net", "layer": ["conv1", "fc"], "optype_blacklist": [{"name": "Cast", "pos": ["input0"]}]}]}}
`,
	`{"dump": {"dump_path": "/tmp", "dump_debug": "on"}}
`,
	`{"dump": {"dump_scene": "watcher", "dump_path": "/tmp", "dump_list": [{"layer": ["a", "b"], "watcher_nodes": ["c"]}]}}
`,
	`{"common_dump_settings": {"dump_mode": 1, "path": "/tmp/dump", "net_name": "ResNet50", "iteration": "0|5-8",
  "saved_data": "full", "input_output": 0, "kernels": ["Default/Conv-op12"], "support_device": [0, 1]},
  "e2e_dump_settings": {"enable": true, "trans_flag": false, "stat_calc_mode": "host"}}
`,
	`{"common_dump_settings": {"op_debug_mode": 3, "dump_mode": 0, "path": "/tmp/dump", "net_name": "Net", "iteration": "all",
  "saved_data": "tensor", "input_output": 2, "kernels": [], "support_device": [0], "file_format": "npy", "overflow_number": 4}}
`,
	`{"ge.exec.enableDump": "1", "ge.exec.dumpPath": "/tmp", "ge.exec.dumpMode": "output", "ge.exec.dumpStep": "0|2-4"}
`,
}

// strange are the bytes that damage a configuration.
const strange = `{}[]",:'#/0x-eT \n` + "\xef\x00"

// writeConfigs writes one good configuration and two damaged ones.
func writeConfigs(dir string, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 2))
	dir = filepath.Join(dir, "configs")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	good := []byte(goodConfigs[seed%uint64(len(goodConfigs))])
	for i := range 3 {
		text := append([]byte(nil), good...)
		for range i {
			at := random.IntN(len(text))
			if random.IntN(2) == 0 {
				text[at] = strange[random.IntN(len(strange))]
			} else {
				text = append(text[:at], text[min(len(text), at+1+random.IntN(3)):]...)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}
