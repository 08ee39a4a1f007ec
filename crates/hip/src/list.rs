//! The one list of HIP's functions. Everything that exists once per function is an expansion of it:
//! the wrappers of `libstrobe.so`, the table of next pointers, the thunks, the published table.
//!
//! It names every function that `libamdhip64` of ROCm 5.2.3, 5.7.1, 6.4.3 and 7.2.4 exports, hiprtc included as
//! far as it is in there: first the releases that have it ("5.7..": and all since, "5.2..6.4": the last, too), then
//! its symbol version, which is not always of the release it came with. Each has a class:
//!
//! - `modelled`: wrapped. The term in braces says what a call does to GPU memory, in the vocabulary
//!   of whoever expands the list; `submit()` is everything that touches no tracked memory but changes
//!   the state of the GPU or of the runtime, so that it must not happen at the cut.
//! - `called`: like `pure`, and called by the agent itself, or handed on by a wrapper that nothing is made of
//!   here: those that hand out other functions (`interpose/src/dynamic.rs`).
//! - `refused`: it makes state that is not modelled. A program that used it is not checkpointed.
//! - `pure`: it changes nothing outside of the process's own memory; not interposed.

/// Expands `$callback!` with the whole list.
#[macro_export]
#[rustfmt::skip] // One line a function.
macro_rules! for_each_function {
    ($callback:ident) => { $callback! {
        modelled {
            // Code objects and kernels.
            "5.2.." "4.2" __hipRegisterFatBinary(wrapper: *const FatBinaryWrapper) -> *mut Ptr { register_fat_binary(wrapper) }
            "5.2.." "4.2" __hipRegisterFunction(module: *mut Ptr, stub: ConstPtr, device_function: *mut c_char, device_name: *const c_char, thread_limit: c_uint, tid: Ptr, bid: Ptr, block: *mut Dim3, grid: *mut Dim3, wave_size: *mut c_int) -> () { register_function(module, stub, device_name) }
            "5.2.." "4.2" __hipUnregisterFatBinary(module: *mut Ptr) -> () { unregister_fat_binary(module) }
            "5.2.." "4.2" __hipRegisterManagedVar(module: Ptr, pointer: *mut Ptr, content: Ptr, name: *const c_char, bytes: usize, align: c_uint) -> () { submit() }
            "5.2.." "4.2" hipModuleLoad(module: *mut Module, path: *const c_char) -> Status { load_file(module, path) }
            "5.2.." "4.2" hipModuleLoadData(module: *mut Module, image: ConstPtr) -> Status { load_image(module, image) }
            "5.2.." "4.2" hipModuleLoadDataEx(module: *mut Module, image: ConstPtr, options: c_uint, option: *mut JitOption, value: *mut Ptr) -> Status { load_image(module, image) }
            "5.2.." "4.2" hipModuleUnload(module: Module) -> Status { unload(module) }
            // The compiler makes files for itself, which are gone when it has ended.
            "5.2..6.4" "4.2" hiprtcCompileProgram(program: Ptr, count: c_int, options: *mut *const c_char) -> Status { submit() }
            "5.2.." "4.2" hipModuleGetFunction(kernel: *mut Kernel, module: Module, name: *const c_char) -> Status { get_function(kernel, module, name) }
            "5.2.." "4.2" hipModuleGetGlobal(address: *mut Ptr, bytes: *mut usize, module: Module, name: *const c_char) -> Status { submit() }
            "5.2.." "4.2" hipGetSymbolAddress(address: *mut Ptr, symbol: ConstPtr) -> Status { submit() }
            "5.2.." "4.2" hipGetSymbolSize(bytes: *mut usize, symbol: ConstPtr) -> Status { submit() }
            "5.2.." "4.2" hipFuncGetAttributes(attributes: Ptr, stub: ConstPtr) -> Status { submit() }
            "5.2.." "4.2" hipFuncSetAttribute(stub: ConstPtr, attribute: c_int, value: c_int) -> Status { submit() }
            "5.2.." "4.2" hipFuncSetCacheConfig(stub: ConstPtr, config: c_int) -> Status { submit() }
            "5.2.." "4.2" hipFuncSetSharedMemConfig(stub: ConstPtr, config: c_int) -> Status { submit() }
            "5.2.." "4.2" hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, stub: ConstPtr, block: c_int, lds: usize) -> Status { submit() }
            "5.2.." "4.2" hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut c_int, stub: ConstPtr, block: c_int, lds: usize, flags: c_uint) -> Status { submit() }
            "5.2.." "4.2" hipOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, stub: ConstPtr, lds: usize, limit: c_int) -> Status { submit() }
            "7.2.." "7.1" hipModuleLoadFatBinary(module: *mut Module, image: ConstPtr) -> Status { load_image(module, image) }
            "5.7..6.4" "4.2" hiprtcLinkComplete(state: Ptr, binary: *mut Ptr, bytes: *mut usize) -> Status { submit() }
            "6.4.." "6.4" hipLinkComplete(state: Ptr, binary: *mut Ptr, bytes: *mut usize) -> Status { submit() }
            "6.4.." "6.2" hipGetFuncBySymbol(kernel: *mut Kernel, stub: ConstPtr) -> Status { submit() }
            "7.2.." "7.2" hipOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, stub: ConstPtr, blocks: c_int, block: c_int) -> Status { submit() }
            // Launches.
            "5.2.." "4.2" hipLaunchKernel(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: usize, stream: Stream) -> Status { launch_stub(stub, grid, block, args, lds, stream) }
            "5.2.." "5.2" hipLaunchKernel_spt(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: usize, stream: Stream) -> Status { launch_stub(stub, grid, block, args, lds, stream.per_thread()) }
            "5.2.." "4.2" hipExtLaunchKernel(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: usize, stream: Stream, start: Event, stop: Event, flags: c_int) -> Status { launch_stub_recorded(stub, grid, block, args, lds, stream, stop) }
            "5.2.." "4.2" hipLaunchCooperativeKernel(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: c_uint, stream: Stream) -> Status { launch_stub(stub, grid, block, args, lds as usize, stream) }
            "5.2.." "5.2" hipLaunchCooperativeKernel_spt(stub: ConstPtr, grid: Dim3, block: Dim3, args: *mut Ptr, lds: c_uint, stream: Stream) -> Status { launch_stub(stub, grid, block, args, lds as usize, stream.per_thread()) }
            "5.2.." "4.2" hipModuleLaunchKernel(kernel: Kernel, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: c_uint, stream: Stream, args: *mut Ptr, extra: *mut Ptr) -> Status { launch_function(kernel, Dim3::new(grid_x, grid_y, grid_z), Dim3::new(block_x, block_y, block_z), args, extra, lds as usize, stream) }
            "5.2.." "4.2" _Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j(kernel: Kernel, items_x: c_uint, items_y: c_uint, items_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: usize, stream: Stream, args: *mut Ptr, extra: *mut Ptr, start: Event, stop: Event, flags: c_uint) -> Status { launch_items_recorded(kernel, Dim3::new(items_x, items_y, items_z), Dim3::new(block_x, block_y, block_z), args, extra, lds, stream, stop) }
            "5.2.." "4.2" _Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_(kernel: Kernel, items_x: c_uint, items_y: c_uint, items_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: usize, stream: Stream, args: *mut Ptr, extra: *mut Ptr, start: Event, stop: Event) -> Status { launch_items_recorded(kernel, Dim3::new(items_x, items_y, items_z), Dim3::new(block_x, block_y, block_z), args, extra, lds, stream, stop) }
            "6.4.." "4.2" hipExtModuleLaunchKernel(kernel: Kernel, items_x: c_uint, items_y: c_uint, items_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: usize, stream: Stream, args: *mut Ptr, extra: *mut Ptr, start: Event, stop: Event, flags: c_uint) -> Status { launch_items_recorded(kernel, Dim3::new(items_x, items_y, items_z), Dim3::new(block_x, block_y, block_z), args, extra, lds, stream, stop) }
            "6.4.." "4.2" hipHccModuleLaunchKernel(kernel: Kernel, items_x: c_uint, items_y: c_uint, items_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: usize, stream: Stream, args: *mut Ptr, extra: *mut Ptr, start: Event, stop: Event) -> Status { launch_items_recorded(kernel, Dim3::new(items_x, items_y, items_z), Dim3::new(block_x, block_y, block_z), args, extra, lds, stream, stop) }
            "5.7.." "5.5" hipModuleLaunchCooperativeKernel(kernel: Kernel, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, lds: c_uint, stream: Stream, args: *mut Ptr) -> Status { launch_function(kernel, Dim3::new(grid_x, grid_y, grid_z), Dim3::new(block_x, block_y, block_z), args, std::ptr::null_mut(), lds as usize, stream) }
            "5.7.." "5.5" hipModuleLaunchCooperativeKernelMultiDevice(launches: Ptr, devices: c_uint, flags: c_uint) -> Status { launch_anywhere() }
            "7.2.." "6.5" hipLaunchKernelExC(config: *const LaunchConfig, stub: ConstPtr, args: *mut Ptr) -> Status { launch_stub_configured(config, stub, args) }
            "7.2.." "6.5" hipDrvLaunchKernelEx(config: *const DriverLaunchConfig, kernel: Kernel, args: *mut Ptr, extra: *mut Ptr) -> Status { launch_function_configured(config, kernel, args, extra) }
            "5.2.." "4.2" hipLaunchByPtr(stub: ConstPtr) -> Status { launch_anywhere() }
            "5.2.." "4.2" hipExtLaunchMultiKernelMultiDevice(launches: Ptr, devices: c_int, flags: c_uint) -> Status { launch_anywhere() }
            "5.2.." "4.2" hipLaunchCooperativeKernelMultiDevice(launches: Ptr, devices: c_int, flags: c_uint) -> Status { launch_anywhere() }
            "5.2..5.2" "4.2" _ZN8hip_impl22hipLaunchKernelGGLImplEmRK4dim3S2_jP12ihipStream_tPPv(stub: usize, grid: *const Dim3, block: *const Dim3, lds: c_uint, stream: Stream, extra: *mut Ptr) -> () { launch_unknown(stream) }
            "5.2.." "4.3" hipGraphInstantiate(exec: *mut GraphExec, graph: Graph, error_node: Ptr, log: *mut c_char, log_bytes: usize) -> Status { instantiate_graph(exec, graph) }
            "5.2.." "4.5" hipGraphInstantiateWithFlags(exec: *mut GraphExec, graph: Graph, flags: u64) -> Status { instantiate_graph(exec, graph) }
            "5.2.." "4.3" hipGraphExecDestroy(exec: GraphExec) -> Status { change_graph_exec(exec) }
            "5.2.." "4.3" hipGraphLaunch(exec: GraphExec, stream: Stream) -> Status { launch_graph(exec, stream) }
            "5.2.." "4.3" hipGraphDestroy(graph: Graph) -> Status { destroy_graph(graph) }
            "5.2.." "4.3" hipGraphAddKernelNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "5.2.." "4.3" hipGraphAddMemcpyNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "5.2.." "4.3" hipGraphAddMemcpyNode1D(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { change_graph(graph) }
            "5.2.." "4.5" hipGraphAddMemcpyNodeFromSymbol(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graph(graph) }
            "5.2.." "4.5" hipGraphAddMemcpyNodeToSymbol(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graph(graph) }
            "5.2.." "4.3" hipGraphAddMemsetNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "5.2.." "4.5" hipGraphAddHostNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "5.2.." "4.5" hipGraphAddChildGraphNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, child: Graph) -> Status { change_graph(graph) }
            "5.2.." "4.4" hipGraphKernelNodeGetParams(node: GraphNode, parameters: Ptr) -> Status { change_graphs() }
            "5.2.." "4.4" hipGraphKernelNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "5.2.." "4.4" hipGraphExecKernelNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "5.2.." "4.4" hipGraphMemcpyNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "5.2.." "4.5" hipGraphExecMemcpyNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "5.2.." "4.4" hipGraphMemsetNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "5.2.." "4.5" hipGraphExecMemsetNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "5.2.." "4.5" hipGraphHostNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "5.2.." "4.5" hipGraphExecHostNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "5.2.." "4.5" hipGraphMemcpyNodeSetParams1D(node: GraphNode, to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { change_graphs() }
            "5.2.." "4.5" hipGraphExecMemcpyNodeSetParams1D(exec: GraphExec, node: GraphNode, to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { change_graph_exec(exec) }
            "5.2.." "4.5" hipGraphMemcpyNodeSetParamsFromSymbol(node: GraphNode, to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graphs() }
            "5.2.." "4.5" hipGraphExecMemcpyNodeSetParamsFromSymbol(exec: GraphExec, node: GraphNode, to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graph_exec(exec) }
            "5.2.." "4.5" hipGraphMemcpyNodeSetParamsToSymbol(node: GraphNode, symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graphs() }
            "5.2.." "4.5" hipGraphExecMemcpyNodeSetParamsToSymbol(exec: GraphExec, node: GraphNode, symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { change_graph_exec(exec) }
            "5.2.." "4.5" hipGraphExecChildGraphNodeSetParams(exec: GraphExec, node: GraphNode, child: Graph) -> Status { change_graph_exec(exec) }
            "5.2.." "4.5" hipGraphExecUpdate(exec: GraphExec, graph: Graph, node: *mut GraphNode, result: *mut c_int) -> Status { update_graph_exec(exec, graph) }
            "6.4.." "6.1" hipGraphInstantiateWithParams(exec: *mut GraphExec, graph: Graph, parameters: Ptr) -> Status { instantiate_graph(exec, graph) }
            "5.7.." "5.3" hipGraphUpload(exec: GraphExec, stream: Stream) -> Status { submit() }
            "5.7.." "5.3" hipGraphLaunch_spt(exec: GraphExec, stream: Stream) -> Status { launch_graph(exec, stream.per_thread()) }
            "6.4.." "5.5" hipGraphAddNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: Ptr) -> Status { change_graph(graph) }
            "5.7.." "5.5" hipGraphAddMemAllocNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: Ptr) -> Status { change_graph(graph) }
            "5.7.." "5.5" hipGraphAddMemFreeNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, address: Ptr) -> Status { change_graph(graph) }
            "6.4.." "6.4" hipGraphAddBatchMemOpNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr) -> Status { change_graph(graph) }
            "6.4.." "5.6" hipDrvGraphAddMemcpyNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr, context: Ptr) -> Status { change_graph(graph) }
            "6.4.." "5.6" hipDrvGraphAddMemsetNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, parameters: ConstPtr, context: Ptr) -> Status { change_graph(graph) }
            "6.4.." "6.2" hipDrvGraphAddMemFreeNode(node: *mut GraphNode, graph: Graph, dependencies: *const GraphNode, count: usize, address: Ptr) -> Status { change_graph(graph) }
            "6.4.." "6.2" hipGraphNodeSetParams(node: GraphNode, parameters: Ptr) -> Status { change_graphs() }
            "6.4.." "6.4" hipGraphBatchMemOpNodeSetParams(node: GraphNode, parameters: Ptr) -> Status { change_graphs() }
            "6.4.." "6.0" hipDrvGraphMemcpyNodeSetParams(node: GraphNode, parameters: ConstPtr) -> Status { change_graphs() }
            "6.4.." "6.2" hipGraphExecNodeSetParams(exec: GraphExec, node: GraphNode, parameters: Ptr) -> Status { change_graph_exec(exec) }
            "6.4.." "6.4" hipGraphExecBatchMemOpNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr) -> Status { change_graph_exec(exec) }
            "6.4.." "6.2" hipDrvGraphExecMemcpyNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr, context: Ptr) -> Status { change_graph_exec(exec) }
            "6.4.." "6.2" hipDrvGraphExecMemsetNodeSetParams(exec: GraphExec, node: GraphNode, parameters: ConstPtr, context: Ptr) -> Status { change_graph_exec(exec) }
            "5.7.." "5.3" hipGraphNodeSetEnabled(exec: GraphExec, node: GraphNode, enabled: c_uint) -> Status { change_graph_exec(exec) }
            // Memory.
            "5.2.." "4.2" hipMalloc(address: *mut Ptr, bytes: usize) -> Status { allocate(address, bytes) }
            "5.2.." "4.2" hipExtMallocWithFlags(address: *mut Ptr, bytes: usize, flags: c_uint) -> Status { allocate_flags(address, bytes, flags) }
            "5.2.." "4.2" hipMallocPitch(address: *mut Ptr, pitch: *mut usize, width: usize, height: usize) -> Status { allocate_pitch(address, pitch, height) }
            "5.2.." "4.2" hipMemAllocPitch(address: *mut Ptr, pitch: *mut usize, width: usize, height: usize, element: c_uint) -> Status { allocate_pitch(address, pitch, height) }
            "5.2.." "4.2" hipMalloc3D(pitched: *mut PitchedPtr, extent: Extent3) -> Status { allocate_3d(pitched, extent) }
            "5.2.." "5.1" hipMallocAsync(address: *mut Ptr, bytes: usize, stream: Stream) -> Status { allocate(address, bytes) }
            "5.2.." "5.1" hipMallocFromPoolAsync(address: *mut Ptr, bytes: usize, pool: MemPool, stream: Stream) -> Status { allocate(address, bytes) }
            "5.2.." "4.2" hipFree(address: Ptr) -> Status { free(address, true) }
            "5.2.." "5.1" hipFreeAsync(address: Ptr, stream: Stream) -> Status { free(address, false) }
            "5.2.." "4.2" hipIpcGetMemHandle(handle: *mut IpcMemHandle, address: Ptr) -> Status { export_memory(address) }
            "5.2.." "4.2" hipIpcOpenMemHandle(address: *mut Ptr, handle: IpcMemHandle, flags: c_uint) -> Status { open_memory(address) }
            "5.2.." "4.2" hipIpcCloseMemHandle(address: Ptr) -> Status { close_memory(address) }
            "5.2.." "4.2" hipMallocManaged(address: *mut Ptr, bytes: usize, flags: c_uint) -> Status { submit() }
            "5.2.." "4.2" hipHostMalloc(address: *mut Ptr, bytes: usize, flags: c_uint) -> Status { submit() }
            "5.2.." "4.2" hipHostAlloc(address: *mut Ptr, bytes: usize, flags: c_uint) -> Status { submit() }
            "5.2.." "4.2" hipMallocHost(address: *mut Ptr, bytes: usize) -> Status { submit() }
            "5.2.." "4.2" hipMemAllocHost(address: *mut Ptr, bytes: usize) -> Status { submit() }
            "5.2.." "4.2" hipHostFree(address: Ptr) -> Status { free(address, true) }
            "5.2.." "4.2" hipFreeHost(address: Ptr) -> Status { free(address, true) }
            "5.2.." "4.2" hipHostRegister(address: Ptr, bytes: usize, flags: c_uint) -> Status { submit() }
            "5.2.." "4.2" hipHostUnregister(address: Ptr) -> Status { submit() }
            "5.2.." "4.2" hipMemAdvise(address: ConstPtr, bytes: usize, advice: c_int, device: c_int) -> Status { submit() }
            "5.2.." "4.2" hipMemPrefetchAsync(address: ConstPtr, bytes: usize, device: c_int, stream: Stream) -> Status { prefetch(stream) }
            "5.2.." "4.2" hipStreamAttachMemAsync(stream: Stream, address: Ptr, bytes: usize, flags: c_uint) -> Status { attach(stream) }
            "5.2.." "5.1" hipDeviceSetMemPool(device: c_int, pool: MemPool) -> Status { submit() }
            "5.2.." "5.1" hipMemPoolCreate(pool: *mut MemPool, properties: ConstPtr) -> Status { submit() }
            "5.2.." "5.1" hipMemPoolDestroy(pool: MemPool) -> Status { submit() }
            "5.2.." "5.1" hipMemPoolTrimTo(pool: MemPool, keep: usize) -> Status { submit() }
            "5.2.." "5.1" hipMemPoolSetAttribute(pool: MemPool, attribute: c_int, value: Ptr) -> Status { submit() }
            "5.2.." "5.1" hipMemPoolSetAccess(pool: MemPool, descriptors: ConstPtr, count: usize) -> Status { submit() }
            // Memory that is mapped by handles. It may be used where an access is set.
            "5.2.." "5.1" hipMemAddressReserve(place: *mut Ptr, bytes: usize, alignment: usize, address: Ptr, flags: u64) -> Status { submit() }
            "5.2.." "5.1" hipMemAddressFree(address: Ptr, bytes: usize) -> Status { submit() }
            "5.2.." "5.1" hipMemCreate(memory: *mut Ptr, bytes: usize, properties: ConstPtr, flags: u64) -> Status { create_memory(bytes) }
            "5.2.." "5.1" hipMemRelease(memory: Ptr) -> Status { submit() }
            "5.2.." "5.1" hipMemRetainAllocationHandle(memory: *mut Ptr, address: Ptr) -> Status { submit() }
            "5.2.." "5.1" hipMemMap(address: Ptr, bytes: usize, offset: usize, memory: Ptr, flags: u64) -> Status { submit() }
            "5.2.." "5.1" hipMemUnmap(address: Ptr, bytes: usize) -> Status { remap(address, bytes) }
            "5.2.." "5.1" hipMemSetAccess(address: Ptr, bytes: usize, access: ConstPtr, count: usize) -> Status { remap(address, bytes) }
            "7.2.." "7.1" hipMemAdvise_v2(address: ConstPtr, bytes: usize, advice: c_int, location: MemLocation) -> Status { submit() }
            "7.2.." "7.1" hipMemPrefetchAsync_v2(address: ConstPtr, bytes: usize, location: MemLocation, flags: c_uint, stream: Stream) -> Status { prefetch(stream) }
            "5.7.." "4.5" hipDeviceGraphMemTrim(device: c_int) -> Status { submit() }
            "5.7.." "5.3" hipDeviceSetLimit(limit: c_int, value: usize) -> Status { submit() }
            // Copies.
            "5.2.." "4.2" hipMemcpy(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { copy(to, from, bytes, Stream::NULL) }
            "5.2.." "5.2" hipMemcpy_spt(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind) -> Status { copy(to, from, bytes, Stream::PER_THREAD) }
            "5.2.." "4.2" hipMemcpyWithStream(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind, stream: Stream) -> Status { copy(to, from, bytes, stream) }
            "5.2.." "4.2" hipMemcpyAsync(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "5.2.." "5.2" hipMemcpyAsync_spt(to: Ptr, from: ConstPtr, bytes: usize, kind: CopyKind, stream: Stream) -> Status { copy_async(to, from, bytes, stream.per_thread()) }
            "5.2.." "4.2" hipMemcpyHtoD(to: Ptr, from: Ptr, bytes: usize) -> Status { copy(to, from, bytes, Stream::NULL) }
            "5.2.." "4.2" hipMemcpyHtoDAsync(to: Ptr, from: Ptr, bytes: usize, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "5.2.." "4.2" hipMemcpyDtoH(to: Ptr, from: Ptr, bytes: usize) -> Status { copy(to, from, bytes, Stream::NULL) }
            "5.2.." "4.2" hipMemcpyDtoHAsync(to: Ptr, from: Ptr, bytes: usize, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "5.2.." "4.2" hipMemcpyDtoD(to: Ptr, from: Ptr, bytes: usize) -> Status { copy(to, from, bytes, Stream::NULL) }
            "5.2.." "4.2" hipMemcpyDtoDAsync(to: Ptr, from: Ptr, bytes: usize, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "5.2.." "4.2" hipMemcpyPeer(to: Ptr, to_device: c_int, from: ConstPtr, from_device: c_int, bytes: usize) -> Status { copy(to, from, bytes, Stream::NULL) }
            "5.2.." "4.2" hipMemcpyPeerAsync(to: Ptr, to_device: c_int, from: ConstPtr, from_device: c_int, bytes: usize, stream: Stream) -> Status { copy_async(to, from, bytes, stream) }
            "5.2.." "4.2" hipMemcpy2D(to: Ptr, to_pitch: usize, from: ConstPtr, from_pitch: usize, width: usize, height: usize, kind: CopyKind) -> Status { copy_2d(to, to_pitch, from, width, height, Stream::NULL) }
            "5.2.." "5.2" hipMemcpy2D_spt(to: Ptr, to_pitch: usize, from: ConstPtr, from_pitch: usize, width: usize, height: usize, kind: CopyKind) -> Status { copy_2d(to, to_pitch, from, width, height, Stream::PER_THREAD) }
            "5.2.." "4.2" hipMemcpy2DAsync(to: Ptr, to_pitch: usize, from: ConstPtr, from_pitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) -> Status { copy_2d(to, to_pitch, from, width, height, stream) }
            "5.2.." "4.2" hipMemcpyParam2D(copy: *const Memcpy2D) -> Status { copy_rect_2d(copy, Stream::NULL) }
            "5.2.." "4.2" hipMemcpyParam2DAsync(copy: *const Memcpy2D, stream: Stream) -> Status { copy_rect_2d(copy, stream) }
            "5.2.." "4.3" hipDrvMemcpy2DUnaligned(copy: *const Memcpy2D) -> Status { copy_rect_2d(copy, Stream::NULL) }
            "5.2.." "4.2" hipMemcpy3D(copy: *const Memcpy3D) -> Status { copy_3d(copy, Stream::NULL) }
            "5.2.." "5.2" hipMemcpy3D_spt(copy: *const Memcpy3D) -> Status { copy_3d(copy, Stream::PER_THREAD) }
            "5.2.." "4.2" hipMemcpy3DAsync(copy: *const Memcpy3D, stream: Stream) -> Status { copy_3d(copy, stream) }
            "5.2.." "4.2" hipDrvMemcpy3D(copy: *const DriverMemcpy3D) -> Status { copy_rect_3d(copy, Stream::NULL) }
            "5.2.." "4.2" hipDrvMemcpy3DAsync(copy: *const DriverMemcpy3D, stream: Stream) -> Status { copy_rect_3d(copy, stream) }
            "5.2.." "4.2" hipMemcpyToSymbol(symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { copy_to_symbol(from, bytes, Stream::NULL) }
            "5.2.." "5.2" hipMemcpyToSymbol_spt(symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { copy_to_symbol(from, bytes, Stream::PER_THREAD) }
            "5.2.." "4.2" hipMemcpyToSymbolAsync(symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> Status { copy_to_symbol_async(from, bytes, stream) }
            "5.2.." "4.2" hipMemcpyFromSymbol(to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { copy_from_symbol(to, bytes, Stream::NULL) }
            "5.2.." "5.2" hipMemcpyFromSymbol_spt(to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind) -> Status { copy_from_symbol(to, bytes, Stream::PER_THREAD) }
            "5.2.." "4.2" hipMemcpyFromSymbolAsync(to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> Status { copy_from_symbol(to, bytes, stream) }
            "5.2.." "4.2" hipMemset(to: Ptr, value: c_int, bytes: usize) -> Status { write(to, bytes, Stream::NULL) }
            "5.2.." "5.2" hipMemset_spt(to: Ptr, value: c_int, bytes: usize) -> Status { write(to, bytes, Stream::PER_THREAD) }
            "5.2.." "4.2" hipMemsetAsync(to: Ptr, value: c_int, bytes: usize, stream: Stream) -> Status { write(to, bytes, stream) }
            "5.2.." "4.2" hipMemsetD8(to: Ptr, value: c_uchar, count: usize) -> Status { write(to, count, Stream::NULL) }
            "5.2.." "4.2" hipMemsetD8Async(to: Ptr, value: c_uchar, count: usize, stream: Stream) -> Status { write(to, count, stream) }
            "5.2.." "4.2" hipMemsetD16(to: Ptr, value: c_ushort, count: usize) -> Status { write(to, count.saturating_mul(2), Stream::NULL) }
            "5.2.." "4.2" hipMemsetD16Async(to: Ptr, value: c_ushort, count: usize, stream: Stream) -> Status { write(to, count.saturating_mul(2), stream) }
            "5.2.." "4.2" hipMemsetD32(to: Ptr, value: c_int, count: usize) -> Status { write(to, count.saturating_mul(4), Stream::NULL) }
            "5.2.." "4.2" hipMemsetD32Async(to: Ptr, value: c_int, count: usize, stream: Stream) -> Status { write(to, count.saturating_mul(4), stream) }
            "5.2.." "4.2" hipMemset2D(to: Ptr, pitch: usize, value: c_int, width: usize, height: usize) -> Status { write_2d(to, pitch, width, height, Stream::NULL) }
            "5.2.." "5.2" hipMemset2D_spt(to: Ptr, pitch: usize, value: c_int, width: usize, height: usize) -> Status { write_2d(to, pitch, width, height, Stream::PER_THREAD) }
            "5.2.." "4.2" hipMemset2DAsync(to: Ptr, pitch: usize, value: c_int, width: usize, height: usize, stream: Stream) -> Status { write_2d(to, pitch, width, height, stream) }
            "5.2.." "4.2" hipMemset3D(to: PitchedPtr, value: c_int, extent: Extent3) -> Status { write_3d(to, extent, Stream::NULL) }
            "5.2.." "5.2" hipMemset3D_spt(to: PitchedPtr, value: c_int, extent: Extent3) -> Status { write_3d(to, extent, Stream::PER_THREAD) }
            "5.2.." "4.2" hipMemset3DAsync(to: PitchedPtr, value: c_int, extent: Extent3, stream: Stream) -> Status { write_3d(to, extent, stream) }
            "5.7.." "5.3" hipMemcpy2DAsync_spt(to: Ptr, to_pitch: usize, from: ConstPtr, from_pitch: usize, width: usize, height: usize, kind: CopyKind, stream: Stream) -> Status { copy_2d(to, to_pitch, from, width, height, stream.per_thread()) }
            "5.7.." "5.3" hipMemcpy3DAsync_spt(copy: *const Memcpy3D, stream: Stream) -> Status { copy_3d(copy, stream.per_thread()) }
            "7.2.." "7.1" hipMemcpy3DPeer(copy: *const Memcpy3DPeer) -> Status { copy_3d_peer(copy, Stream::NULL) }
            "7.2.." "7.1" hipMemcpy3DPeerAsync(copy: *const Memcpy3DPeer, stream: Stream) -> Status { copy_3d_peer(copy, stream) }
            "7.2.." "7.1" hipMemcpyBatchAsync(to: *mut Ptr, from: *mut Ptr, bytes: *mut usize, count: usize, attributes: Ptr, places: *mut usize, kinds: usize, failed: *mut usize, stream: Stream) -> Status { copy_batch(to, from, bytes, count, stream) }
            "7.2.." "7.1" hipMemcpy3DBatchAsync(count: usize, copies: Ptr, failed: *mut usize, flags: u64, stream: Stream) -> Status { launch_unknown(stream) }
            "5.7.." "5.3" hipMemcpyToSymbolAsync_spt(symbol: ConstPtr, from: ConstPtr, bytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> Status { copy_to_symbol_async(from, bytes, stream.per_thread()) }
            "5.7.." "5.3" hipMemcpyFromSymbolAsync_spt(to: Ptr, symbol: ConstPtr, bytes: usize, offset: usize, kind: CopyKind, stream: Stream) -> Status { copy_from_symbol(to, bytes, stream.per_thread()) }
            "5.7.." "5.3" hipMemsetAsync_spt(to: Ptr, value: c_int, bytes: usize, stream: Stream) -> Status { write(to, bytes, stream.per_thread()) }
            "5.7.." "5.3" hipMemset2DAsync_spt(to: Ptr, pitch: usize, value: c_int, width: usize, height: usize, stream: Stream) -> Status { write_2d(to, pitch, width, height, stream.per_thread()) }
            "5.7.." "5.3" hipMemset3DAsync_spt(to: PitchedPtr, value: c_int, extent: Extent3, stream: Stream) -> Status { write_3d(to, extent, stream.per_thread()) }
            "7.2.." "7.1" hipMemsetD2D8(to: Ptr, pitch: usize, value: c_uchar, width: usize, height: usize) -> Status { write_2d(to, pitch, width, height, Stream::NULL) }
            "7.2.." "7.1" hipMemsetD2D8Async(to: Ptr, pitch: usize, value: c_uchar, width: usize, height: usize, stream: Stream) -> Status { write_2d(to, pitch, width, height, stream) }
            "7.2.." "7.1" hipMemsetD2D16(to: Ptr, pitch: usize, value: c_ushort, width: usize, height: usize) -> Status { write_2d(to, pitch, width.saturating_mul(2), height, Stream::NULL) }
            "7.2.." "7.1" hipMemsetD2D16Async(to: Ptr, pitch: usize, value: c_ushort, width: usize, height: usize, stream: Stream) -> Status { write_2d(to, pitch, width.saturating_mul(2), height, stream) }
            "7.2.." "7.1" hipMemsetD2D32(to: Ptr, pitch: usize, value: c_uint, width: usize, height: usize) -> Status { write_2d(to, pitch, width.saturating_mul(4), height, Stream::NULL) }
            "7.2.." "7.1" hipMemsetD2D32Async(to: Ptr, pitch: usize, value: c_uint, width: usize, height: usize, stream: Stream) -> Status { write_2d(to, pitch, width.saturating_mul(4), height, stream) }
            // Streams, events, devices.
            "5.2.." "4.2" hipStreamCreate(stream: *mut Stream) -> Status { create_stream(stream, 0) }
            "5.2.." "4.2" hipStreamCreateWithFlags(stream: *mut Stream, flags: c_uint) -> Status { create_stream(stream, flags) }
            "5.2.." "4.2" hipStreamCreateWithPriority(stream: *mut Stream, flags: c_uint, priority: c_int) -> Status { create_stream(stream, flags) }
            "5.2.." "4.2" hipExtStreamCreateWithCUMask(stream: *mut Stream, words: u32, mask: *const u32) -> Status { create_stream(stream, 0) }
            "5.2.." "4.2" hipStreamDestroy(stream: Stream) -> Status { destroy_stream(stream) }
            "5.2.." "4.2" hipStreamQuery(stream: Stream) -> Status { synchronise_stream(stream) }
            "5.2.." "5.2" hipStreamQuery_spt(stream: Stream) -> Status { synchronise_stream(stream.per_thread()) }
            "5.2.." "4.2" hipStreamSynchronize(stream: Stream) -> Status { synchronise_stream(stream) }
            "5.2.." "5.2" hipStreamSynchronize_spt(stream: Stream) -> Status { synchronise_stream(stream.per_thread()) }
            "5.2.." "4.2" hipStreamWaitEvent(stream: Stream, event: Event, flags: c_uint) -> Status { wait_event(stream, event) }
            "5.2.." "5.2" hipStreamWaitEvent_spt(stream: Stream, event: Event, flags: c_uint) -> Status { wait_event(stream.per_thread(), event) }
            "5.2.." "4.4" hipStreamWaitValue32(stream: Stream, address: Ptr, value: u32, flags: c_uint, mask: u32) -> Status { wait_value(stream) }
            "5.2.." "4.4" hipStreamWaitValue64(stream: Stream, address: Ptr, value: u64, flags: c_uint, mask: u64) -> Status { wait_value(stream) }
            "5.2.." "4.4" hipStreamWriteValue32(stream: Stream, address: Ptr, value: u32, flags: c_uint) -> Status { write(address, 4, stream) }
            "5.2.." "4.4" hipStreamWriteValue64(stream: Stream, address: Ptr, value: u64, flags: c_uint) -> Status { write(address, 8, stream) }
            "5.2.." "4.2" hipStreamAddCallback(stream: Stream, callback: StreamCallback, data: Ptr, flags: c_uint) -> Status { callback(stream) }
            "5.7.." "5.3" hipStreamAddCallback_spt(stream: Stream, callback: StreamCallback, data: Ptr, flags: c_uint) -> Status { callback(stream.per_thread()) }
            "5.7.." "5.3" hipLaunchHostFunc(stream: Stream, function: Ptr, data: Ptr) -> Status { callback(stream) }
            "5.7.." "5.3" hipLaunchHostFunc_spt(stream: Stream, function: Ptr, data: Ptr) -> Status { callback(stream.per_thread()) }
            "5.2.." "4.3" hipStreamBeginCapture(stream: Stream, mode: CaptureMode) -> Status { begin_capture(stream) }
            "5.2.." "4.3" hipStreamEndCapture(stream: Stream, graph: *mut Graph) -> Status { end_capture(stream, graph) }
            "5.7.." "5.3" hipStreamBeginCapture_spt(stream: Stream, mode: CaptureMode) -> Status { begin_capture(stream.per_thread()) }
            "6.4.." "6.1" hipStreamBeginCaptureToGraph(stream: Stream, graph: Graph, dependencies: *const GraphNode, edges: ConstPtr, count: usize, mode: CaptureMode) -> Status { begin_capture_into(stream, graph) }
            "5.7.." "5.3" hipStreamEndCapture_spt(stream: Stream, graph: *mut Graph) -> Status { end_capture(stream.per_thread(), graph) }
            "5.2.." "4.2" hipEventCreate(event: *mut Event) -> Status { submit() }
            "5.2.." "4.2" hipEventCreateWithFlags(event: *mut Event, flags: c_uint) -> Status { submit() }
            "5.2.." "4.2" hipEventDestroy(event: Event) -> Status { destroy_event(event) }
            "5.2.." "4.2" hipEventRecord(event: Event, stream: Stream) -> Status { record_event(event, stream) }
            "5.7.." "5.2" hipEventRecord_spt(event: Event, stream: Stream) -> Status { record_event(event, stream.per_thread()) }
            "6.4.." "6.4" hipEventRecordWithFlags(event: Event, stream: Stream, flags: c_uint) -> Status { record_event(event, stream) }
            "5.2.." "4.2" hipEventQuery(event: Event) -> Status { synchronise_event(event) }
            "5.2.." "4.2" hipEventSynchronize(event: Event) -> Status { synchronise_event(event) }
            "5.2.." "4.2" hipEventElapsedTime(milliseconds: *mut f32, start: Event, stop: Event) -> Status { submit() }
            "5.2.." "4.2" hipDeviceSynchronize() -> Status { synchronise_device() }
            "5.2.." "4.2" hipCtxSynchronize() -> Status { synchronise_device() }
            "5.2.." "4.2" hipDeviceReset() -> Status { reset() }
            "5.2.." "4.2" hipDevicePrimaryCtxReset(device: c_int) -> Status { reset() }
            "5.2.." "4.2" hipDeviceEnablePeerAccess(device: c_int, flags: c_uint) -> Status { submit() }
            "5.2.." "4.2" hipDeviceDisablePeerAccess(device: c_int) -> Status { submit() }
        }
        called {
            "5.2.." "4.2" hipGetDevice(device: *mut c_int) -> Status;
            "5.2.." "4.2" hipSetDevice(device: c_int) -> Status;
            "5.2.." "4.2" hipGetDeviceCount(count: *mut c_int) -> Status;
            "5.2.." "4.3" hipStreamIsCapturing(stream: Stream, status: *mut c_int) -> Status;
            "5.2.." "5.0" hipThreadExchangeStreamCaptureMode(mode: *mut CaptureMode) -> Status;
            "5.2.." "4.2" hipGetDeviceProperties(properties: Ptr, device: c_int) -> Status;
            "5.2.." "4.2" hipGetErrorName(status: Status) -> *const c_char;
            "5.2.." "4.2" hipMemGetInfo(free: *mut usize, total: *mut usize) -> Status;
            "6.4.." "6.1" hipGetProcAddress(name: *const c_char, function: *mut ConstPtr, version: c_int, flags: u64, found: *mut c_int) -> Status;
            "7.2.." "7.1" hipGetDriverEntryPoint(name: *const c_char, function: *mut ConstPtr, flags: u64, found: *mut c_int) -> Status;
            "7.2.." "7.1" hipGetDriverEntryPoint_spt(name: *const c_char, function: *mut ConstPtr, flags: u64, found: *mut c_int) -> Status;
        }
        refused {
            "5.2.." "4.2" hipArray3DCreate;
            "5.2.." "4.2" hipArrayCreate;
            "5.2.." "4.3" hipArrayDestroy;
            "5.2.." "4.2" hipBindTexture;
            "5.2.." "4.2" hipBindTexture2D;
            "5.2.." "4.2" hipBindTextureToArray;
            "5.2.." "4.2" hipBindTextureToMipmappedArray;
            "5.2.." "4.2" hipCreateTextureObject;
            "5.2.." "4.3" hipDestroyExternalMemory;
            "5.2.." "4.3" hipDestroyExternalSemaphore;
            "5.2.." "4.2" hipDestroyTextureObject;
            "5.2.." "4.3" hipExternalMemoryGetMappedBuffer;
            "5.2.." "4.2" hipFreeArray;
            "5.2.." "4.2" hipFreeMipmappedArray;
            "5.2.." "4.2" hipGetMipmappedArrayLevel;
            "5.2.." "4.3" hipImportExternalMemory;
            "5.2.." "4.3" hipImportExternalSemaphore;
            "5.2.." "4.2" hipIpcGetEventHandle;
            "5.2.." "4.2" hipIpcOpenEventHandle;
            "5.2.." "4.2" hipMalloc3DArray;
            "5.2.." "4.2" hipMallocArray;
            "5.2.." "4.2" hipMallocMipmappedArray;
            "5.2.." "5.1" hipMemExportToShareableHandle;
            "5.2.." "5.1" hipMemImportFromShareableHandle;
            "5.2.." "5.1" hipMemMapArrayAsync;
            "5.2.." "5.1" hipMemPoolExportPointer;
            "5.2.." "5.1" hipMemPoolExportToShareableHandle;
            "5.2.." "5.1" hipMemPoolImportFromShareableHandle;
            "5.2.." "5.1" hipMemPoolImportPointer;
            "5.2.." "4.2" hipMemcpy2DFromArray;
            "5.2.." "4.2" hipMemcpy2DFromArrayAsync;
            "5.2.." "5.2" hipMemcpy2DFromArray_spt;
            "5.2.." "4.2" hipMemcpy2DToArray;
            "5.2.." "4.3" hipMemcpy2DToArrayAsync;
            "5.2.." "5.2" hipMemcpy2DToArray_spt;
            "5.2.." "4.2" hipMemcpyAtoH;
            "5.2.." "4.2" hipMemcpyFromArray;
            "5.2.." "4.2" hipMemcpyHtoA;
            "5.2.." "4.2" hipMemcpyToArray;
            "5.2.." "4.2" hipMipmappedArrayCreate;
            "5.2.." "4.2" hipMipmappedArrayDestroy;
            "5.2.." "4.2" hipMipmappedArrayGetLevel;
            "5.2.." "4.3" hipSignalExternalSemaphoresAsync;
            "5.2.." "4.3" hipWaitExternalSemaphoresAsync;
            "5.2.." "4.2" hipTexObjectCreate;
            "5.2.." "4.2" hipTexObjectDestroy;
            "5.2.." "4.2" hipTexRefSetAddress;
            "5.2.." "4.2" hipTexRefSetAddress2D;
            "5.2.." "4.2" hipTexRefSetArray;
            "5.2.." "4.2" hipTexRefSetMipmappedArray;
            "5.2.." "4.3" hipGraphicsGLRegisterBuffer;
            "5.2.." "4.5" hipGraphicsGLRegisterImage;
            "5.2.." "4.3" hipGraphicsMapResources;
            "5.2.." "4.3" hipGraphicsResourceGetMappedPointer;
            "5.2.." "4.5" hipGraphicsSubResourceGetMappedArray;
            "5.2.." "4.3" hipGraphicsUnmapResources;
            "5.2.." "4.3" hipGraphicsUnregisterResource;
            "5.2.." "4.3" hipGLGetDevices;
            "5.2..5.2" "4.2" _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc;
            "5.2..5.2" "4.2" _Z23hipDestroySurfaceObjectP13__hip_surface;
            "5.7.." "4.2" hipCreateSurfaceObject;
            "5.7.." "4.2" hipDestroySurfaceObject;
            "7.2.." "5.3" hipGraphAddExternalSemaphoresSignalNode;
            "7.2.." "5.3" hipGraphAddExternalSemaphoresWaitNode;
            "7.2.." "5.3" hipGraphExecExternalSemaphoresSignalNodeSetParams;
            "7.2.." "5.3" hipGraphExecExternalSemaphoresWaitNodeSetParams;
            "7.2.." "5.3" hipGraphExternalSemaphoresSignalNodeSetParams;
            "7.2.." "5.3" hipGraphExternalSemaphoresWaitNodeSetParams;
            "7.2.." "7.2" hipLibraryEnumerateKernels;
            "7.2.." "7.2" hipLibraryGetKernel;
            "7.2.." "7.2" hipLibraryLoadData;
            "7.2.." "7.2" hipLibraryLoadFromFile;
            "7.2.." "7.2" hipLibraryUnload;
            "7.2.." "6.5" hipMemGetHandleForAddressRange;
            "6.4.." "6.2" hipMemcpy2DArrayToArray;
            "5.7.." "5.3" hipMemcpy2DFromArrayAsync_spt;
            "5.7.." "5.3" hipMemcpy2DToArrayAsync_spt;
            "6.4.." "6.2" hipMemcpyAtoA;
            "6.4.." "6.2" hipMemcpyAtoD;
            "6.4.." "6.2" hipMemcpyAtoHAsync;
            "6.4.." "6.2" hipMemcpyDtoA;
            "5.7.." "5.3" hipMemcpyFromArray_spt;
            "6.4.." "6.2" hipMemcpyHtoAAsync;
            "6.4.." "6.4" hipStreamBatchMemOp;
        }
        pure {
            "5.2.." "4.2" __hipGetPCH;
            "5.2.." "4.2" __hipPopCallConfiguration;
            "5.2.." "4.2" __hipPushCallConfiguration;
            "5.2.." "4.2" __hipRegisterSurface;
            "5.2.." "4.2" __hipRegisterTexture;
            "5.2.." "4.2" __hipRegisterVar;
            "5.2.." "4.2" hipApiName;
            "5.2.." "4.2" hipChooseDevice;
            "5.2.." "4.2" hipConfigureCall;
            "5.2.." "4.2" hipCreateChannelDesc;
            "5.2.." "4.2" hipCtxCreate;
            "5.2.." "4.2" hipCtxDestroy;
            "5.2.." "4.2" hipCtxDisablePeerAccess;
            "5.2.." "4.2" hipCtxEnablePeerAccess;
            "5.2.." "4.2" hipCtxGetApiVersion;
            "5.2.." "4.2" hipCtxGetCacheConfig;
            "5.2.." "4.2" hipCtxGetCurrent;
            "5.2.." "4.2" hipCtxGetDevice;
            "5.2.." "4.2" hipCtxGetFlags;
            "5.2.." "4.2" hipCtxGetSharedMemConfig;
            "5.2.." "4.2" hipCtxPopCurrent;
            "5.2.." "4.2" hipCtxPushCurrent;
            "5.2.." "4.2" hipCtxSetCacheConfig;
            "5.2.." "4.2" hipCtxSetCurrent;
            "5.2.." "4.2" hipCtxSetSharedMemConfig;
            "5.2.." "4.2" hipDeviceCanAccessPeer;
            "5.2.." "4.2" hipDeviceComputeCapability;
            "5.2.." "4.2" hipDeviceGet;
            "5.2.." "4.2" hipDeviceGetAttribute;
            "5.2.." "4.2" hipDeviceGetByPCIBusId;
            "5.2.." "4.2" hipDeviceGetCacheConfig;
            "5.2.." "5.1" hipDeviceGetDefaultMemPool;
            "5.2.." "4.2" hipDeviceGetLimit;
            "5.2.." "5.1" hipDeviceGetMemPool;
            "5.2.." "4.2" hipDeviceGetName;
            "5.2.." "4.2" hipDeviceGetP2PAttribute;
            "5.2.." "4.2" hipDeviceGetPCIBusId;
            "5.2.." "4.2" hipDeviceGetSharedMemConfig;
            "5.2.." "4.2" hipDeviceGetStreamPriorityRange;
            "5.2.." "5.1" hipDeviceGetUuid;
            "5.2.." "4.2" hipDevicePrimaryCtxGetState;
            "5.2.." "4.2" hipDevicePrimaryCtxRelease;
            "5.2.." "4.2" hipDevicePrimaryCtxRetain;
            "5.2.." "4.2" hipDevicePrimaryCtxSetFlags;
            "5.2.." "4.2" hipDeviceSetCacheConfig;
            "5.2.." "4.2" hipDeviceSetSharedMemConfig;
            "5.2.." "4.2" hipDeviceTotalMem;
            "5.2.." "4.2" hipDriverGetVersion;
            "5.2.." "5.0" hipDrvPointerGetAttributes;
            "5.2..5.2" "4.2" hipEnableActivityCallback;
            "5.2.." "4.2" hipExtGetLinkTypeAndHopCount;
            "5.2.." "4.2" hipExtStreamGetCUMask;
            "5.2.." "4.2" hipFuncGetAttribute;
            "5.2.." "4.2" hipGetChannelDesc;
            "5.2.." "4.2" hipGetCmdName;
            "5.2.." "4.2" hipGetDeviceFlags;
            "5.2.." "4.2" hipGetErrorString;
            "5.2.." "4.2" hipGetLastError;
            "5.2.." "4.2" hipGetStreamDeviceId;
            "5.2.." "4.2" hipGetTextureAlignmentOffset;
            "5.2.." "4.2" hipGetTextureObjectResourceDesc;
            "5.2.." "4.2" hipGetTextureObjectResourceViewDesc;
            "5.2.." "4.2" hipGetTextureObjectTextureDesc;
            "5.2.." "4.2" hipGetTextureReference;
            "5.2.." "4.4" hipGraphAddDependencies;
            "5.2.." "4.4" hipGraphAddEmptyNode;
            "5.2.." "4.5" hipGraphAddEventRecordNode;
            "5.2.." "4.5" hipGraphAddEventWaitNode;
            "5.2.." "4.5" hipGraphChildGraphNodeGetGraph;
            "5.2.." "4.5" hipGraphClone;
            "5.2.." "4.3" hipGraphCreate;
            "5.2.." "4.5" hipGraphDestroyNode;
            "5.2.." "4.5" hipGraphEventRecordNodeGetEvent;
            "5.2.." "4.5" hipGraphEventRecordNodeSetEvent;
            "5.2.." "4.5" hipGraphEventWaitNodeGetEvent;
            "5.2.." "4.5" hipGraphEventWaitNodeSetEvent;
            "5.2.." "4.5" hipGraphExecEventRecordNodeSetEvent;
            "5.2.." "4.5" hipGraphExecEventWaitNodeSetEvent;
            "5.2.." "4.5" hipGraphGetEdges;
            "5.2.." "4.4" hipGraphGetNodes;
            "5.2.." "4.4" hipGraphGetRootNodes;
            "5.2.." "4.5" hipGraphHostNodeGetParams;
            "5.2.." "4.4" hipGraphMemcpyNodeGetParams;
            "5.2.." "4.4" hipGraphMemsetNodeGetParams;
            "5.2.." "4.5" hipGraphNodeFindInClone;
            "5.2.." "4.5" hipGraphNodeGetDependencies;
            "5.2.." "4.5" hipGraphNodeGetDependentNodes;
            "5.2.." "4.5" hipGraphNodeGetType;
            "5.2.." "4.5" hipGraphRemoveDependencies;
            "5.2.." "4.2" hipHostGetDevicePointer;
            "5.2.." "4.2" hipHostGetFlags;
            "5.2.." "4.2" hipInit;
            "5.2..5.2" "4.2" hipInitActivityCallback;
            "5.2.." "4.2" hipKernelNameRef;
            "5.2.." "4.2" hipKernelNameRefByPtr;
            "5.2.." "5.1" hipMemGetAccess;
            "5.2.." "4.2" hipMemGetAddressRange;
            "5.2.." "5.1" hipMemGetAllocationGranularity;
            "5.2.." "5.1" hipMemGetAllocationPropertiesFromHandle;
            "5.2.." "5.1" hipMemPoolGetAccess;
            "5.2.." "5.1" hipMemPoolGetAttribute;
            "5.2.." "4.2" hipMemPtrGetInfo;
            "5.2.." "4.2" hipMemRangeGetAttribute;
            "5.2.." "4.2" hipMemRangeGetAttributes;
            "5.2.." "4.2" hipModuleGetTexRef;
            "5.2.." "4.2" hipModuleOccupancyMaxActiveBlocksPerMultiprocessor;
            "5.2.." "4.2" hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags;
            "5.2.." "4.2" hipModuleOccupancyMaxPotentialBlockSize;
            "5.2.." "4.2" hipModuleOccupancyMaxPotentialBlockSizeWithFlags;
            "5.2.." "4.2" hipPeekAtLastError;
            "5.2.." "5.0" hipPointerGetAttribute;
            "5.2.." "4.2" hipPointerGetAttributes;
            "5.2.." "4.2" hipProfilerStart;
            "5.2.." "4.2" hipProfilerStop;
            "5.2..5.2" "4.2" hipRegisterActivityCallback;
            "5.2..5.2" "4.2" hipRegisterApiCallback;
            "5.2..5.2" "4.2" hipRemoveActivityCallback;
            "5.2..5.2" "4.2" hipRemoveApiCallback;
            "5.2.." "4.2" hipRuntimeGetVersion;
            "5.2.." "4.2" hipSetDeviceFlags;
            "5.2.." "4.2" hipSetupArgument;
            "5.2.." "4.5" hipStreamGetCaptureInfo;
            "5.2.." "4.5" hipStreamGetCaptureInfo_v2;
            "5.2.." "4.2" hipStreamGetFlags;
            "5.2.." "5.2" hipStreamGetFlags_spt;
            "5.2.." "4.2" hipStreamGetPriority;
            "5.2.." "5.2" hipStreamGetPriority_spt;
            "5.2.." "4.5" hipStreamUpdateCaptureDependencies;
            "5.2.." "4.2" hipTexObjectGetResourceDesc;
            "5.2.." "4.2" hipTexObjectGetResourceViewDesc;
            "5.2.." "4.2" hipTexObjectGetTextureDesc;
            "5.2.." "4.2" hipTexRefGetAddress;
            "5.2.." "4.2" hipTexRefGetAddressMode;
            "5.2.." "4.2" hipTexRefGetFilterMode;
            "5.2.." "4.2" hipTexRefGetFlags;
            "5.2.." "4.2" hipTexRefGetFormat;
            "5.2.." "4.2" hipTexRefGetMaxAnisotropy;
            "5.2.." "4.2" hipTexRefGetMipmapFilterMode;
            "5.2.." "4.2" hipTexRefGetMipmapLevelBias;
            "5.2.." "4.2" hipTexRefGetMipmapLevelClamp;
            "5.2.." "4.2" hipTexRefSetAddressMode;
            "5.2.." "4.2" hipTexRefSetBorderColor;
            "5.2.." "4.2" hipTexRefSetFilterMode;
            "5.2.." "4.2" hipTexRefSetFlags;
            "5.2.." "4.2" hipTexRefSetFormat;
            "5.2.." "4.2" hipTexRefSetMaxAnisotropy;
            "5.2.." "4.2" hipTexRefSetMipmapFilterMode;
            "5.2.." "4.2" hipTexRefSetMipmapLevelBias;
            "5.2.." "4.2" hipTexRefSetMipmapLevelClamp;
            "5.2.." "4.2" hipUnbindTexture;
            "5.2..6.4" "4.2" hiprtcAddNameExpression;
            "5.2..6.4" "4.2" hiprtcCreateProgram;
            "5.2..6.4" "4.2" hiprtcDestroyProgram;
            "5.2..6.4" "4.2" hiprtcGetCode;
            "5.2..6.4" "4.2" hiprtcGetCodeSize;
            "5.2..6.4" "4.2" hiprtcGetErrorString;
            "5.2..6.4" "4.2" hiprtcGetLoweredName;
            "5.2..6.4" "4.2" hiprtcGetProgramLog;
            "5.2..6.4" "4.2" hiprtcGetProgramLogSize;
            "5.2..6.4" "4.2" hiprtcVersion;
            "5.7.." "5.6" hipArray3DGetDescriptor;
            "5.7.." "5.6" hipArrayGetDescriptor;
            "5.7.." "5.6" hipArrayGetInfo;
            "6.4.." "4.2" hipChooseDeviceR0000;
            "6.4.." "6.0" hipChooseDeviceR0600;
            "5.7.." "4.5" hipDeviceGetGraphMemAttribute;
            "7.2.." "4.2" hipDeviceGetTexture1DLinearMaxWidth;
            "5.7.." "4.5" hipDeviceSetGraphMemAttribute;
            "5.7.." "5.3" hipDrvGetErrorName;
            "5.7.." "5.3" hipDrvGetErrorString;
            "6.4.." "6.0" hipDrvGraphMemcpyNodeGetParams;
            "6.4.." "6.0" hipExtGetLastError;
            "6.4.." "4.2" hipGetDevicePropertiesR0000;
            "6.4.." "6.0" hipGetDevicePropertiesR0600;
            "6.4.." "6.4" hipGraphBatchMemOpNodeGetParams;
            "5.7.." "5.3" hipGraphDebugDotPrint;
            "6.4.." "6.2" hipGraphExecGetFlags;
            "7.2.." "5.3" hipGraphExternalSemaphoresSignalNodeGetParams;
            "7.2.." "5.3" hipGraphExternalSemaphoresWaitNodeGetParams;
            "5.7.." "5.3" hipGraphKernelNodeCopyAttributes;
            "5.7.." "5.0" hipGraphKernelNodeGetAttribute;
            "5.7.." "5.0" hipGraphKernelNodeSetAttribute;
            "5.7.." "5.5" hipGraphMemAllocNodeGetParams;
            "5.7.." "5.5" hipGraphMemFreeNodeGetParams;
            "5.7.." "5.3" hipGraphNodeGetEnabled;
            "5.7.." "5.3" hipGraphReleaseUserObject;
            "5.7.." "5.3" hipGraphRetainUserObject;
            "7.2.." "7.2" hipKernelGetLibrary;
            "7.2.." "7.2" hipKernelGetName;
            "7.2.." "7.2" hipLibraryGetKernelCount;
            "6.4.." "6.4" hipLinkAddData;
            "6.4.." "6.4" hipLinkAddFile;
            "6.4.." "6.4" hipLinkCreate;
            "6.4.." "6.4" hipLinkDestroy;
            "7.2.." "7.1" hipModuleGetFunctionCount;
            "5.7.." "4.2" hipPointerSetAttribute;
            "5.7.." "5.3" hipRegisterTracerCallback;
            "6.4.." "6.2" hipSetValidDevices;
            "7.2.." "7.2" hipStreamCopyAttributes;
            "7.2.." "7.1" hipStreamGetAttribute;
            "5.7.." "5.3" hipStreamGetCaptureInfo_spt;
            "5.7.." "5.3" hipStreamGetCaptureInfo_v2_spt;
            "5.7.." "4.2" hipStreamGetDevice;
            "7.2.." "7.1" hipStreamGetId;
            "5.7.." "5.3" hipStreamIsCapturing_spt;
            "7.2.." "7.1" hipStreamSetAttribute;
            "6.4.." "4.2" hipTexRefGetArray;
            "6.4.." "4.2" hipTexRefGetBorderColor;
            "6.4.." "4.2" hipTexRefGetMipMappedArray;
            "5.7.." "5.3" hipUserObjectCreate;
            "5.7.." "5.3" hipUserObjectRelease;
            "5.7.." "5.3" hipUserObjectRetain;
            "5.7..6.4" "5.3" hiprtcGetBitcode;
            "5.7..6.4" "5.3" hiprtcGetBitcodeSize;
            "5.7..6.4" "4.2" hiprtcLinkAddData;
            "5.7..6.4" "4.2" hiprtcLinkAddFile;
            "5.7..6.4" "4.2" hiprtcLinkCreate;
            "5.7..6.4" "4.2" hiprtcLinkDestroy;
        }
    } };
}
