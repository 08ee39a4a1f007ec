use strobe_fuzz::*;
use strobe_fuzz::program::Program;
use std::time::Instant;
fn main(){
 let mut reasons=std::collections::BTreeMap::<String,usize>::new();
 for seed in 0..1u64 { 
 let mut r=random::Random::new(seed);
 let ps:Vec<_>=(0..400).map(|_|machine::kernel(&mut r)).collect();
 let t=Instant::now();
 let c=compile::Compiler::new().unwrap();
 let src=program::file(&ps); std::fs::write("/tmp/f/m.s",&src).unwrap();
 let elf=match c.compile(compile::Language::Assembly,&src,"") { Ok(e)=>e, Err(e)=>{ println!("{}", &format!("{e:#}")[..4000.min(format!("{e:#}").len())]); return } };
 let tc=t.elapsed();
 let mut d=device::Device::new(); let m=d.load(&elf).unwrap();
 let t=Instant::now();
 let fs:Vec<_>=m.object.kernels.iter().map(|k|(k,judge::footprint(&m.object,k).unwrap())).collect();
 let ta=t.elapsed(); 
 let sc:Vec<_>=(0..5).map(|_|machine::scene(&mut r)).collect();
 let t=Instant::now();
 for (k,f) in &fs { for s in &sc { if let device::Outcome::Invalid(w)=d.run(&m,k,s) { let w:String=w.chars().map(|c|if c.is_ascii_digit(){'0'}else{c}).collect(); *reasons.entry(w.chars().take(70).collect()).or_default()+=1; } } }
 let tr=t.elapsed(); let t=Instant::now();
 for (k,f) in &fs { for s in &sc { let a=device::predict(f,k,s); *reasons.entry(format!("writes {:?}",a.writes.reason())).or_default()+=1; } }
 println!("compile {tc:?} analyse {ta:?} run {tr:?} predict {:?} bytes {}",t.elapsed(), elf.len()); 
 }
 for (r,n) in reasons { println!("{n} {r}"); }
}
