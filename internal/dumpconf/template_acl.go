package dumpconf

// The placeholder of a folder is legal for all runtimes.
const folderPlaceholder = "/path/to/dump"

func aclTemplates() []template {
	path := inDump.key("dump_path").holding(folderPlaceholder)
	mode, data, level := inDump.key("dump_mode"), inDump.key("dump_data"), inDump.key("dump_level")
	step, scene := inDump.key("dump_step"), inDump.key("dump_scene")
	filters := func(more ...templateKey) []templateKey {
		return append([]templateKey{path, inItem.key("model_name").list(), inItem.key("layer"),
			inItem.key("optype_blacklist"), inItem.key("opname_blacklist")}, more...)
	}
	kernelData := inDump.key("dump_kernel_data").list().oneOf(kernelData...).with("all")
	kernelData.joined = true
	return []template{
		{
			name: "model", schema: SchemaACL, listed: true,
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.large-model"},
			keys: filters(mode.with("output"), data.with("tensor"), level.by(levelForFilters), step),
		},
		{
			name: "op", schema: SchemaACL, listed: true,
			next: []string{"next.folder", "next.pytorch", "next.load-order", "next.unset-collect", "next.views"},
			keys: []templateKey{path, mode.with("all"), data.with("tensor"), level, inDump.key("dump_op_switch").always("on")},
		},
		{
			name: "stats", schema: SchemaACL, since: sinceCANN70, listed: true,
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.csv"},
			keys: filters(mode.with("all"), data.always("stats"), level.with("op"), step, inDump.key("dump_stats").by(where((*Options).isA2, aclDump.find("dump_stats").Values...))),
		},
		{
			name: "overflow", schema: SchemaACL, since: sinceCANN62,
			next: []string{"next.folder", "next.load-order", "next.status-check", "next.only-overflow", "next.analyze"},
			keys: []templateKey{path, inDump.key("dump_debug").always("on")},
		},
		{
			name: "exception", schema: SchemaACL, since: sinceCANN81,
			next: []string{"next.acl-init", "next.exception-folder", "next.folder"},
			keys: []templateKey{inDump.key("dump_path").about("exception.dump_path"),
				scene.oneOf(exceptionScenes...).with("aic_err_brief_dump").by(sceneForVersion)},
		},
		{
			name: "watcher", schema: SchemaACL, since: sinceCANN83, listed: true,
			next: []string{"next.folder", "next.load-order", "next.unset-collect", "next.static-graphs"},
			keys: []templateKey{path, inItem.key("layer").about("watcher.layer").holding("executed_op"),
				inItem.key("watcher_nodes").holding("watched_op"), mode.always("output"), scene.always(watcherScene)},
		},
		{
			name: "kernel-debug", schema: SchemaACL, since: sinceCANN85,
			next: []string{"next.folder", "next.load-order", "next.kernel-path"},
			keys: []templateKey{path, kernelData},
		},
	}
}

// levelForFilters is the level that blacklists need.
func levelForFilters(b *builder) []string {
	if b.wants("optype_blacklist") || b.wants("opname_blacklist") {
		return []string{"op"}
	}
	return nil
}

// sceneForVersion is the name under which the target knows the scene.
func sceneForVersion(b *builder) []string {
	if b.opt.TargetVersion.Before(sinceCANN82) {
		return []string{"lite_exception"}
	}
	return []string{"aic_err_brief_dump"}
}
