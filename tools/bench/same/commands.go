package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// command is a command line. Its name is what findings are grouped by.
type command struct {
	name string
	args []string
}

func line(text string) command { return command{text, strings.Fields(text)} }

// commands returns every command that fits an input: by the folders and files
// that it has.
func commands(in input) []command {
	var all []command
	if in.has("dumps") {
		all = append(all, forDumps...)
	}
	if in.has("cpu") && in.has("dumps") {
		all = append(all, forPairs...)
		if in.has("consumers.json") {
			all = append(all, line("compare --cpu in/cpu --npu in/dumps --consumer-map in/consumers.json --format json"))
		}
	}
	if in.has("configs") {
		all = append(all, in.forConfigs()...)
	}
	return all
}

var forDumps = []command{
	line("convert -d in/dumps -out out"),
	line("convert -d in/dumps -out out -f NCHW --json"),
	line("convert -d in/dumps -out out -f NHWC -t bin"),
	line("convert -d in/dumps -out out -t msnpy"),
	line("convert -d in/dumps -out out -f ND -t txt"),
	line("inspect in/dumps"),
	line("inspect in/dumps --stats"),
	line("inspect in/dumps --stats --json"),
	line("overflow scan in/dumps --all"),
	line("overflow scan in/dumps --format json --all"),
	line("overflow scan in/dumps -out out --format text,json,csv,md"),
	line("overflow analyze -d in/dumps --lang zh"),
	line("overflow analyze -d in/dumps -out out --format text,json,csv,md"),
	line("overflow decode in/dumps"),
	line("compare determinism in/dumps in/dumps --format json"),
	line("compare in/dumps in/dumps --inputs --profile exact --format csv"),
}

var forPairs = []command{
	line("compare --cpu in/cpu --npu in/dumps"),
	line("compare --cpu in/cpu --npu in/dumps -j 1 -out out --format text,csv,json,junit,md,msaccucmp --extra-columns"),
	line("compare --cpu in/cpu --npu in/dumps -out out --diff-order worst --diff-cnt 20"),
	line("compare --cpu in/cpu --npu in/dumps --profile dtype --format json"),
	line("compare --cpu in/cpu --npu in/dumps --order name --nan-policy hpaa --max-elems 100 --format json"),
	line("compare --cpu in/cpu --npu in/dumps --auto-layout --force-compare --crop-padding --format csv"),
	line("compare detail --cpu in/cpu --npu in/dumps --op op1 -out out"),
	line("compare determinism in/cpu in/dumps"),
	line("compare judge in/compare.json --rtol 0.01 --format csv"),
}

// forConfigs are the commands for configurations, one file each.
func (in input) forConfigs() []command {
	var all []command
	files, _ := filepath.Glob(filepath.Join(in.dir, "configs", "*"))
	slices.Sort(files)
	for _, file := range files {
		path := "in/configs/" + filepath.Base(file)
		for _, c := range []string{
			"config check", "config check --fix --format json", "config check --format sarif", "config check --fix",
			"config explain --lang zh", "config explain", "config explain --json",
			"config convert --to acl", "config convert --to mindspore --lang zh", "config convert --to ge",
		} {
			all = append(all, command{c, append(strings.Fields(c), path)})
		}
	}
	return all
}

// has reports whether the input has a file or folder.
func (in input) has(name string) bool {
	_, err := os.Stat(filepath.Join(in.dir, name))
	return err == nil
}
